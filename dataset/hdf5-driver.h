/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <hdf5.h>

/**
 * How libhdf5 reads files. Its own way asks the storage for each object's header, some hundred
 * bytes at a time. What lies about a header is kept here, so that a storage which answers late is
 * asked a few times. Samples are read as they are asked for. Under the library's lock.
 */

/* For files that are opened to be read. A library that refuses it reads in its own way. */
void td_h5_driver_set (hid_t file_access);
