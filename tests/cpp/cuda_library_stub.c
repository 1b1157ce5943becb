/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/* A library that stands for that of the CUDA kernels, of another version or with nothing.
 */

#ifdef STUB_VERSION
struct library {
    const char* version;
};

__attribute__((visibility("default"))) const struct library* gnuradio_aperture_cuda(void)
{
    static const struct library all = { STUB_VERSION };
    return &all;
}
#else
int nothing = 0;
#endif
