import { createHash, createPublicKey, verify } from 'node:crypto';

const required = ['@method', '@authority', '@target-uri', 'agent-id', 'agent-key', 'intent-uid', 'execution-id'];

/**
 * Whether the gate at `gate`, such as https://gate.example, has signed a request, and the signature is still valid. Remember each `nonce` until it
 * expires, to refuse replays. `keys` are those of `<gate>/.well-known/http-message-signatures-directory`, read at most an hour ago; `url` is the
 * address that was called from outside, `body` bytes or text, `headers` has its names in lower case.
 */
export function isSigned({ method, url, headers, body }, { gate, keys }) {
  const [, parameters = '', listed = ''] = /^gate=(\(([^)]*)\);.*)$/.exec(headers['signature-input']) ?? [];
  const [, signature = ''] = /^gate=:(.+):$/.exec(headers.signature) ?? [];
  const covered = listed.split(' ');
  const read = (name) => new RegExp(`;${name}=(?:"([^"]*)"|(\\d+))`).exec(parameters)?.slice(1).find(Boolean);
  const jwk = keys.find(({ kid }) => kid === read('keyid'));
  const nowSeconds = Date.now() / 1000;
  const isCurrent = Number(read('created')) <= nowSeconds && nowSeconds <= Number(read('expires'));
  const agent = '"signature-agent";key="gate"';
  const needed = [...required, ...(body.length > 0 ? ['content-digest'] : [])].map((name) => `"${name}"`);
  const isComplete = [...needed, agent].every((identifier) => covered.includes(identifier));
  const isOurs = headers['signature-agent'] === `gate="${gate}"` && read('tag') === 'web-bot-auth';
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  if (!jwk || !isCurrent || !isComplete || !isOurs || (body.length > 0 && headers['content-digest'] !== digest)) return false;
  const values = { ...headers, '@method': method, '@authority': new URL(url).host, '@target-uri': url };
  const valueFor = (identifier) => (identifier === agent ? `"${gate}"` : values[identifier.slice(1, -1)]);
  const base = [...covered.map((identifier) => `${identifier}: ${valueFor(identifier)}`), `"@signature-params": ${parameters}`].join('\n');
  return verify(undefined, Buffer.from(base), createPublicKey({ key: jwk, format: 'jwk' }), Buffer.from(signature, 'base64'));
}
