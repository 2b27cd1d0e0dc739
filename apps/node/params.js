// Query parameters: strict, and every refusal is one sentence.

/** A parameter that cannot be used; the message is the sentence for the client. */
export class BadParameter extends Error {}

/** The query as a Map, with unknown and repeated names refused. */
export function single(searchParams, ...allowed) {
  const query = new Map();
  for (const [name, value] of searchParams) {
    if (!allowed.includes(name)) {
      throw new BadParameter(`unknown parameter "${name}": allowed are ${allowed.join(', ')}`);
    }
    if (query.has(name)) {
      throw new BadParameter(`${name} is given more than once`);
    }
    query.set(name, value);
  }
  return query;
}

/** A required decimal number from 0 to 3600. */
export function seconds(query, name) {
  const text = query.get(name);
  if (text === undefined) {
    throw new BadParameter(`${name} is missing: it must be a number from 0 to 3600`);
  }
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text) || Number(text) > 3600) {
    throw new BadParameter(`${name} must be a number from 0 to 3600`);
  }
  return Number(text);
}

/** A whole number from low to high; low when the parameter is absent. */
export function whole(query, name, low, high) {
  const text = query.get(name) ?? String(low);
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) < low || Number(text) > high) {
    throw new BadParameter(`${name} must be a whole number from ${low} to ${high}`);
  }
  return Number(text);
}

/** A whole number from low to high that must be there. */
export function required(query, name, low, high) {
  if (!query.has(name)) {
    throw new BadParameter(`${name} is missing: it must be a whole number from ${low} to ${high}`);
  }
  return whole(query, name, low, high);
}
