/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "error_texts.h"

#include <pybind11/pybind11.h>
#include <cstring>
#include <stdexcept>

namespace py = pybind11;

namespace {

void set_error(PyObject* type, const char* text)
{
    const auto object = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        text, static_cast<Py_ssize_t>(std::strlen(text)), "surrogateescape"));
    if (object) {
        PyErr_SetObject(type, object.ptr());
    }
}

} // namespace

void keep_error_texts()
{
    py::register_local_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const py::builtin_exception&) {
            throw; // has a type of Python's, which pybind11 knows
        } catch (const std::range_error&) {
            throw; // has a type of Python's, too
        } catch (const std::overflow_error&) {
            throw;
        } catch (const std::invalid_argument& error) {
            set_error(PyExc_ValueError, error.what());
        } catch (const std::runtime_error& error) {
            set_error(PyExc_RuntimeError, error.what());
        }
    });
}
