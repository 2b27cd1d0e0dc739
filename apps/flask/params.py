"""Query parameters: strict, and every refusal is one sentence."""

import re


class BadParameter(ValueError):
    """A parameter that cannot be used; str() is the sentence for the client."""


def single(args, *allowed):
    """The query as a plain dict, with unknown and repeated names refused."""
    for name in args:
        if name not in allowed:
            raise BadParameter(f'unknown parameter "{name}": allowed are {", ".join(allowed)}')
        if len(args.getlist(name)) > 1:
            raise BadParameter(f"{name} is given more than once")
    return args.to_dict()


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
