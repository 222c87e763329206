"""The OpenAPI document: what plain HTTP takes and answers, made from the models of both."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic.json_schema import models_json_schema

from context_compression.mcp_server.arguments import Arguments, input_schema
from context_compression.mcp_server.rest import bodies
from context_compression.mcp_server.rest.operations import OPERATIONS, Operation
from context_compression.mcp_server.web.refusals import OPENAPI

ANSWERS = (bodies.Compacted, bodies.Restored, bodies.StoreStatus, bodies.ErrorAnswer)
STATUSES: Mapping[int, str] = {
    400: "The body is not JSON, or an argument is unknown or wrong.",
    401: "There is no token, or it is nobody's.",
    403: "The Origin of a browser is not allowed.",
    404: "There is no such ref, session or path.",
    405: "The path takes another method; `Allow` names it.",
    408: "The body did not arrive in time.",
    409: "The session is kept for something else, or another process is writing to it.",
    413: "The body is too large.",
    415: "The body is no JSON in UTF-8, by its headers.",
    421: "The Host is not allowed.",
    422: "The conversation, the target or a setting is not possible.",
    429: "You ask too much; `Retry-After` says when to ask again.",
    500: "A fault of this program, or a damaged archive.",
    502: "A model that writes summaries failed.",
    503: "The store or the server cannot answer now; `Retry-After` says when to ask again.",
}
"""What the status code of a refusal means."""
SCHEMAS = "#/components/schemas/{model}"


@cache
def document() -> Mapping[str, Any]:
    """The document."""
    from context_compression.mcp_server.server import version_here

    _, answers = models_json_schema(
        [(model, "serialization") for model in ANSWERS], ref_template=SCHEMAS
    )
    requests = {each.arguments.__name__: _schema(each.arguments) for each in OPERATIONS}
    refused = {str(status): _refused(means) for status, means in STATUSES.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "context-compression",
            "version": version_here(),
            "description": "Fits an agent's conversation into its context window and loses "
            "nothing. Names in camelCase are understood, too; null and empty mean not given.",
        },
        "security": [{"token": []}],
        "paths": {each.path: {each.method.lower(): _operation(each)} for each in OPERATIONS}
        | {OPENAPI: {"get": _itself()}},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**requests, **answers["$defs"], "SessionStatus": bodies.SESSION_STATUS},
            "responses": refused,
        },
    }


def _schema(model: type[Arguments]) -> dict[str, Any]:
    schema = {**input_schema(model), "additionalProperties": False}
    return schema | ({"required": needed} if (needed := model.required()) else {})


def _operation(operation: Operation) -> dict[str, Any]:
    name = operation.arguments.__name__
    schemas = [{"$ref": SCHEMAS.format(model=each)} for each in operation.answers]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    about = {
        "operationId": operation.path.rpartition("/")[2],
        "summary": " ".join((operation.arguments.__doc__ or "").split()),
        "responses": _responses(schema),
    }
    if operation.method == "GET":
        asked = _schema(operation.arguments)["properties"].items()
        return about | {
            "parameters": [
                {"name": name, "in": "query", "description": of["description"],
                 "schema": {"type": of["type"]}}
                for name, of in asked
            ]
        }  # fmt: skip
    body = {"application/json": {"schema": {"$ref": SCHEMAS.format(model=name)}}}
    return about | {"requestBody": {"required": True, "content": body}}


def _itself() -> dict[str, Any]:
    return {
        "operationId": "openapi",
        "summary": "This document.",
        "responses": _responses({"type": "object"}),
    }


def _responses(schema: Mapping[str, Any]) -> dict[str, Any]:
    done = {"description": "Done.", "content": {"application/json": {"schema": schema}}}
    refs = {str(each): {"$ref": f"#/components/responses/{each}"} for each in STATUSES}
    return {"200": done, **refs}


def _refused(means: str) -> dict[str, Any]:
    schema = {"$ref": SCHEMAS.format(model=bodies.ErrorAnswer.__name__)}
    return {"description": means, "content": {"application/json": {"schema": schema}}}
