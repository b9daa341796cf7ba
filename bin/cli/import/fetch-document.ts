import { Client } from 'undici';
import { DialError, dial, resolveBySystem } from '../../../functions/core/relay/dial.ts';
import { checkOrigin, type EgressRules } from '../../../functions/core/relay/egress.ts';
import { CliFailure, usageFailure } from '../failure.ts';

const connectTimeoutMs = 5_000;
const deadlineMs = 60_000;
const maxBytes = 100 * 1024 * 1024;

const complaints: Record<DialError['failure'], string> = {
  no_address: 'its host has no address',
  refused_address: 'its host leads to where no connection is made: only public addresses are called',
  unreachable: 'it cannot be reached',
  tls_failed: 'its certificate is not valid for its name',
};

/**
 * Fetches a document under the same rules as intents are called: https, public addresses, checked on the connection; no redirects.
 * @throws CliFailure
 */
export async function fetchDocument(address: string, rules: EgressRules): Promise<string> {
  const url = URL.parse(address);
  const problems = url === null ? ['must be an absolute URL'] : checkOrigin(originOf(address), rules);
  if (url === null || problems.length > 0) throw usageFailure(`The address of the document ${problems.join(', ')}.`);
  const client = new Client(url.origin, {
    connect: ({ protocol, hostname, port }, callback) => {
      const target = { protocol, hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
      dial(target, { rules, resolve: resolveBySystem, connectTimeoutMs }).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
    maxResponseSize: maxBytes,
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: { Accept: 'application/json, application/yaml, */*;q=0.1', 'Accept-Encoding': 'identity', 'User-Agent': 'intent-gate' },
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await body.text();
    if (statusCode === 200) return text;
    const { location } = headers;
    const hint =
      statusCode >= 300 && statusCode < 400 && typeof location === 'string'
        ? ` It leads to ${location}; give that address if you trust it.`
        : '';
    throw new CliFailure('failure', `The document was answered with status ${statusCode}.${hint}`);
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    const reason = error instanceof DialError ? complaints[error.failure] : 'the connection broke off, took too long or brought too much';
    throw new CliFailure('failure', `The document was not fetched: ${reason}.`, { cause: error });
  } finally {
    await client.destroy();
  }
}

const originOf = (address: string): string => /^[^/]*\/\/[^/?#]*/.exec(address)?.[0] ?? address;
