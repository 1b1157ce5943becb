#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The server's description of itself: OpenAPI 3.0, with a path for each control there is."""

from ..schemas import ID

ERRORS = {
    400: "The request is not one",
    401: "A token is needed",
    403: "Not allowed from there, or not without a token_file",
    404: "There is no such thing",
    405: "Not by this method",
    408: "The body did not come in time",
    409: "The instrument does not run",
    413: "The body is too large",
    415: "The body must be application/json",
    421: "The server is not called so",
    422: "The value is not allowed",
    429: "Too many wrong tokens",
    503: "Too much at once, or nothing there yet",
    504: "The instrument did not answer",
}


def _list(items):
    return {"type": "array", "items": items}


#: decibels of a beam belong to the times; null: it had no power
BEAMS = {
    "type": "object",
    "required": ["times", "beams"],
    "properties": {
        "times": _list({"type": "number"}),
        "beams": _list(
            {
                "type": "object",
                "required": ["name", "decibels"],
                "properties": {
                    "name": {"type": "string"},
                    "decibels": _list({"type": "number", "nullable": True}),
                },
            }
        ),
    },
}


def _errors(*codes):
    return {
        str(code): {
            "description": ERRORS[code],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for code in codes
    }


def _get(summary, schema=None, content="application/json", codes=(), parameters=()):
    body = {"schema": schema or {"type": "object"}}
    return {
        "get": {
            "summary": summary,
            "security": [{}, {"token": []}],
            "parameters": list(parameters),
            "responses": {
                "200": {"description": summary, "content": {content: body}},
                **_errors(400, 401, 403, 421, 429, *codes),
            },
        }
    }


def _parameter(name, about):
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": about,
        "schema": {"type": "string", "pattern": ID, "minLength": 1, "maxLength": 64},
    }


def description(observed, version):
    """The dictionary of /openapi.json."""
    block = _parameter("block", "name of a block")
    paths = {
        "/openapi.json": _get("This description"),
        "/metrics": _get("Figures for Prometheus", {"type": "string"}, "text/plain"),
        "/api/v1/about": _get("What the instrument is, and what may be changed"),
        "/api/v1/state": _get("What is now: figures, levels, fringes, beams, sky"),
        "/api/v1/status": _get("The newest messages of all blocks, by event"),
        "/api/v1/status/{block}": _get(
            "The newest messages of a block, by event", codes=(404,), parameters=[block]
        ),
        "/api/v1/fringes": _get("Fringes of the last integrations"),
        "/api/v1/beams": _get("Total powers of beams in the last looks", BEAMS),
        "/api/v1/log": _get("The last lines of the log"),
        "/api/v1/candidates": _get("The last candidates"),
        "/api/v1/candidates/{id}.png": _get(
            "The picture of a candidate",
            {"type": "string", "format": "binary"},
            "image/png",
            codes=(404,),
            parameters=[_parameter("id", "of a candidate")],
        ),
        "/api/v1/sky.png": _get(
            "The sky", {"type": "string", "format": "binary"}, "image/png", codes=(404,)
        ),
    }
    for name, ports in observed.controls.items():
        for port, control in ports.items():
            paths[f"/api/v1/blocks/{name}/{port}"] = {
                "post": {
                    "summary": control["about"],
                    "security": [{"token": []}],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": control["schema"]}},
                    },
                    "responses": {
                        "200": {
                            "description": "It is done",
                            "content": {
                                "application/json": {
                                    "schema": {"$ref": "#/components/schemas/Done"}
                                }
                            },
                        },
                        **_errors(400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 503, 504),
                    },
                }
            }
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "gr-aperture",
            "version": version or "0",
            "description": "Control and monitoring of an instrument: docs/monitoring.md. "
            "/api/v1/events has what /api/v1/state says as server-sent events.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "string"}},
                    "additionalProperties": False,
                },
                "Done": {
                    "type": "object",
                    "required": ["done"],
                    "properties": {"done": {"type": "boolean"}},
                    "additionalProperties": False,
                },
            },
        },
    }
