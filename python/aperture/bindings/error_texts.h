/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_BINDINGS_ERROR_TEXTS_H
#define INCLUDED_APERTURE_BINDINGS_ERROR_TEXTS_H

/*!
 * \brief Lets errors of C++ reach Python whole where their texts are not UTF-8.
 *
 * A text can have the name of a file in it, and a name may be any bytes. pybind11 decodes
 * texts strictly: of such an error it leaves none of the text, or an error about the
 * decoding. Here, each byte that is not UTF-8 becomes the surrogate that Python has for
 * it in names of files.
 */
void keep_error_texts();

#endif /* INCLUDED_APERTURE_BINDINGS_ERROR_TEXTS_H */
