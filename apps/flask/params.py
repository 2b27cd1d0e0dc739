"""Query parameters: strict, and every refusal is one sentence."""

import re


class BadParameter(ValueError):
    """A parameter that cannot be used; str() is the sentence for the client."""


def single(pairs, *allowed):
    """The query's pairs as a dict, with unknown and repeated names refused."""
    query = {}
    for name, value in pairs:
        if name not in allowed:
            raise BadParameter(f'unknown parameter "{name}": allowed are {", ".join(allowed)}')
        if name in query:
            raise BadParameter(f"{name} is given more than once")
        query[name] = value
    return query


def seconds(query, name):
    """A required decimal number from 0 to 3600."""
    text = query.get(name)
    if text is None:
        raise BadParameter(f"{name} is missing: it must be a number from 0 to 3600")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) > 3600:
        raise BadParameter(f"{name} must be a number from 0 to 3600")
    return float(text)


def whole(query, name, low, high):
    """A whole number from low to high; low when the parameter is absent."""
    text = query.get(name, str(low))
    # Python refuses to convert thousands of digits; nothing allowed has ten.
    if not re.fullmatch("[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise BadParameter(f"{name} must be a whole number from {low} to {high}")
    return int(text)


def required(query, name, low, high):
    """A whole number from low to high that must be there."""
    if name not in query:
        raise BadParameter(f"{name} is missing: it must be a whole number from {low} to {high}")
    return whole(query, name, low, high)
