/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * For builds with -Db_sanitize=thread: the sanitizer does not see GLib's locks, which are its own
 * and not pthread's, and would report whatever they guard. Preloaded, these tell it which thread
 * comes after which; everything else is GLib's.
 */
#include <dlfcn.h>
#include <gio/gio.h>
#include <stdlib.h>

void __tsan_acquire (void *address);
void __tsan_release (void *address);
void AnnotateIgnoreWritesBegin (const char *file, int line);
void AnnotateIgnoreWritesEnd (const char *file, int line);

/* Two threads may find it at once; only who found nothing writes, since a write orders threads. */
#define REAL(name)                                                                                 \
  static __typeof__ (&name) found;                                                                 \
  __typeof__ (&name) real = g_atomic_pointer_get (&found);                                         \
  if (!real)                                                                                       \
  g_atomic_pointer_set (&found, real = (__typeof__ (&name)) dlsym (RTLD_NEXT, #name))

/* Programs that this one starts are no sanitized ones, and would crash. */
__attribute__ ((constructor)) static void
keep_from_children (void)
{
  unsetenv ("LD_PRELOAD");
}

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
  __tsan_acquire (object); /* what the last one clears was used by the others before */
  real (object);
}

void
g_async_queue_push (GAsyncQueue *queue, gpointer data)
{
  REAL (g_async_queue_push);
  __tsan_release (queue);
  real (queue, data);
}

void
g_async_queue_push_front (GAsyncQueue *queue, gpointer data)
{
  REAL (g_async_queue_push_front);
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

/* ── Handed over to the main loop ── */

/* A function with its data that is called once or often, in another thread than this one. */
typedef struct {
  GSourceFunc function;
  gpointer data;
  GDestroyNotify free_data;
} Call;

static Call *
call_new (GSourceFunc function, gpointer data, GDestroyNotify free_data)
{
  Call *call = g_new (Call, 1);

  *call = (Call) { function, data, free_data };
  __tsan_release (call);
  return call;
}

static gboolean
call_run (gpointer data)
{
  Call *call = data;

  __tsan_acquire (call);
  return call->function (call->data);
}

static void
call_free (gpointer data)
{
  Call *call = data;

  __tsan_acquire (call);
  if (call->free_data)
    call->free_data (call->data);
  g_free (call);
}

guint
g_idle_add_full (gint priority, GSourceFunc function, gpointer data, GDestroyNotify notify)
{
  REAL (g_idle_add_full);
  return real (priority, call_run, call_new (function, data, notify), call_free);
}

guint
g_timeout_add_full (gint priority, guint interval, GSourceFunc function, gpointer data,
                    GDestroyNotify notify)
{
  REAL (g_timeout_add_full);
  return real (priority, interval, call_run, call_new (function, data, notify), call_free);
}

/* ── Tasks ── */

typedef struct {
  GAsyncReadyCallback callback;
  gpointer data;
} Ready;

static void
ready_call (GObject *source, GAsyncResult *result, gpointer data)
{
  const Ready ready = *(Ready *) data;

  g_free (data);
  __tsan_acquire (result);
  ready.callback (source, result, ready.data);
}

GTask *(g_task_new) (gpointer source, GCancellable *cancellable, GAsyncReadyCallback callback,
                     gpointer data)
{
  REAL (g_task_new);
  if (!callback)
    return real (source, cancellable, NULL, data);
  Ready *ready = g_new (Ready, 1);
  *ready = (Ready) { callback, data };
  return real (source, cancellable, ready_call, ready);
}

static void
task_run (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  __tsan_acquire (task);
  const GTaskThreadFunc function = g_object_get_data (G_OBJECT (task), "tsan-function");
  function (task, source, data, cancellable);
}

void
g_task_run_in_thread (GTask *task, GTaskThreadFunc function)
{
  REAL (g_task_run_in_thread);
  g_object_set_data (G_OBJECT (task), "tsan-function", function);
  __tsan_release (task);
  real (task, task_run);
}

void
g_task_return_pointer (GTask *task, gpointer result, GDestroyNotify free_result)
{
  REAL (g_task_return_pointer);
  __tsan_release (task);
  real (task, result, free_result);
}

void
g_task_return_boolean (GTask *task, gboolean result)
{
  REAL (g_task_return_boolean);
  __tsan_release (task);
  real (task, result);
}

void
g_task_return_error (GTask *task, GError *error)
{
  REAL (g_task_return_error);
  __tsan_release (task);
  real (task, error);
}
