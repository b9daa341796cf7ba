/** How many calls are left, and of how many, of the limit that leaves the least; undefined if none applies. */
export function readCallsLeft(headers: Headers): string | undefined {
  const [, name, left] = /"([^"]*)";r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
  if (left === undefined) return undefined;
  const quotas = (headers.get('ratelimit-policy') ?? '').matchAll(/"([^"]*)";q=(\d+)/g);
  const [, , quota] = [...quotas].find(([, one]) => one === name) ?? [];
  return quota === undefined ? left : `${left} of ${quota}`;
}
