/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * For builds with -Db_sanitize=thread: the sanitizer does not see GLib's locks, which are its own
 * and not pthread's, and would report whatever they guard. Preloaded, these tell it which thread
 * comes after which; everything else is GLib's.
 */
#include <dlfcn.h>
#include <gio/gio.h>

void __tsan_acquire (void *address);
void __tsan_release (void *address);
void AnnotateIgnoreWritesBegin (const char *file, int line);
void AnnotateIgnoreWritesEnd (const char *file, int line);

#define REAL(name)                                                                                 \
  static __typeof__ (&name) real;                                                                  \
  if (!g_atomic_pointer_get (&real))                                                               \
  g_atomic_pointer_set (&real, (__typeof__ (&name)) dlsym (RTLD_NEXT, #name))

#undef g_mutex_lock
#undef g_mutex_unlock
#undef g_atomic_ref_count_dec
#undef g_once_init_enter
#undef g_once_init_leave
#undef g_object_unref
#undef g_object_ref

void
g_mutex_lock (GMutex *mutex)
{
  REAL (g_mutex_lock);
  real (mutex);
  __tsan_acquire (mutex);
}

gboolean
g_mutex_trylock (GMutex *mutex)
{
  REAL (g_mutex_trylock);
  const gboolean locked = real (mutex);
  if (locked)
    __tsan_acquire (mutex);
  return locked;
}

void
g_mutex_unlock (GMutex *mutex)
{
  REAL (g_mutex_unlock);
  __tsan_release (mutex);
  real (mutex);
}

void
g_rec_mutex_lock (GRecMutex *mutex)
{
  REAL (g_rec_mutex_lock);
  real (mutex);
  __tsan_acquire (mutex);
}

void
g_rec_mutex_unlock (GRecMutex *mutex)
{
  REAL (g_rec_mutex_unlock);
  __tsan_release (mutex);
  real (mutex);
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  REAL (g_cond_wait);
  __tsan_release (mutex);
  real (cond, mutex);
  __tsan_acquire (mutex);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  REAL (g_cond_wait_until);
  __tsan_release (mutex);
  const gboolean woken = real (cond, mutex, end_time);
  __tsan_acquire (mutex);
  return woken;
}

gboolean (g_atomic_ref_count_dec) (gatomicrefcount *count)
{
  REAL (g_atomic_ref_count_dec);
  __tsan_release (count);
  const gboolean last = real (count);
  __tsan_acquire (count);
  return last;
}

gboolean (g_once_init_enter) (volatile void *location)
{
  REAL (g_once_init_enter);
  const gboolean first = real (location);
  __tsan_acquire ((void *) location);
  return first;
}

void (g_once_init_leave) (volatile void *location, gsize result)
{
  REAL (g_once_init_leave);
  __tsan_release ((void *) location);
  real (location, result);
}

gpointer (g_once_impl) (GOnce *once, GThreadFunc func, gpointer arg)
{
  REAL (g_once_impl);
  const gpointer result = real (once, func, arg);
  __tsan_release (once);
  __tsan_acquire (once);
  return result;
}

void
g_object_unref (gpointer object)
{
  REAL (g_object_unref);
  __tsan_release (object);
  real (object);
}

void
g_async_queue_push (GAsyncQueue *queue, gpointer data)
{
  REAL (g_async_queue_push);
  __tsan_release (queue);
  real (queue, data);
}

gpointer
g_async_queue_pop (GAsyncQueue *queue)
{
  REAL (g_async_queue_pop);
  /* It frees a node that another thread allocated, under the queue's lock, which is not seen. */
  AnnotateIgnoreWritesBegin (__FILE__, __LINE__);
  const gpointer data = real (queue);
  AnnotateIgnoreWritesEnd (__FILE__, __LINE__);
  __tsan_acquire (queue);
  return data;
}

/* A source's callback comes after its attaching. */
guint
g_source_attach (GSource *source, GMainContext *context)
{
  REAL (g_source_attach);
  __tsan_release (context ? context : g_main_context_default ());
  return real (source, context);
}

void
g_main_loop_run (GMainLoop *loop)
{
  REAL (g_main_loop_run);
  real (loop);
  __tsan_acquire (g_main_loop_get_context (loop));
}

void
g_cancellable_cancel (GCancellable *cancellable)
{
  REAL (g_cancellable_cancel);
  if (cancellable)
    __tsan_release (cancellable);
  real (cancellable);
}

void
g_cancellable_disconnect (GCancellable *cancellable, gulong handler)
{
  REAL (g_cancellable_disconnect);
  real (cancellable, handler);
  if (cancellable)
    __tsan_acquire (cancellable);
}
