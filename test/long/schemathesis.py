"""Loaded by Schemathesis, see schemathesis.ts."""

import os
from urllib.parse import quote

import schemathesis

# API Gateway takes 10,240 bytes of address and headers, and answers 431 to more, whatever the operation.
MAX_BYTES = 8_192


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what does not get through an API Gateway."""
    parts = [text for fields in (case.path_parameters, case.query, case.headers) for pair in (fields or {}).items() for text in pair]
    return sum(len(quote(str(part).encode("utf-8", "surrogatepass"))) for part in parts) < MAX_BYTES


@schemathesis.check
def hides_what_is_not_permitted(context, response, case):
    """What the holder of the PAT may not see occurs in no answer."""
    assert os.environ["UNSEEN"].encode() not in response.content.lower()
