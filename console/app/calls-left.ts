/** Remaining calls and quota of the tightest limit; undefined if no limit applies. */
export function readCallsLeft(headers: Headers): string | undefined {
  const [, name, left] = /"([^"]*)";r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
  if (left === undefined) return undefined;
  const quotas = (headers.get('ratelimit-policy') ?? '').matchAll(/"([^"]*)";q=(\d+)/g);
  const [, , quota] = [...quotas].find(([, one]) => one === name) ?? [];
  return quota === undefined ? left : `${left} of ${quota}`;
}
