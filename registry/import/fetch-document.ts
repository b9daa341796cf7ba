import { findProxy, throughProxy } from '../../client/proxy.ts';
import { CallFailed } from '../../functions/core/relay/call-failure.ts';
import { DialError, dial, resolveBySystem } from '../../functions/core/relay/dial.ts';
import { checkOrigin, type EgressRules } from '../../functions/core/relay/egress.ts';
import { complaints } from '../../functions/core/relay/fetch-document.ts';
import { openHttpClient } from '../../functions/core/relay/http-client.ts';
import { CliFailure, usageFailure } from '../failure.ts';

const connectTimeoutMs = 5_000;
const deadlineMs = 60_000;
const maxBytes = 100 * 1024 * 1024;

export function openFetcher(rules: EgressRules) {
  const client = openHttpClient((target) => dial(target, { rules, resolve: resolveBySystem, connectTimeoutMs }), maxBytes);

  /** Through a proxy, which resolves the name itself, if the environment names one. */
  async function send({ href }: URL, headers: Record<string, string>, signal: AbortSignal) {
    const proxy = findProxy(href);
    if (proxy === undefined) return client.send({ method: 'GET', url: new URL(href), headers, signal });
    const response = await proxy.fetch(href, { headers, signal });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new CallFailed('answer_too_large');
      chunks.push(chunk);
    }
    return { status: response.status, headers: Object.fromEntries(response.headers), body: Buffer.concat(chunks) };
  }

  return {
    /** Fetches a file under the rules for calls: https, public addresses checked when connecting, no redirects. */
    async fetch(address: string): Promise<Uint8Array> {
      const url = URL.parse(address);
      const problems = url === null ? ['must be an absolute URL'] : checkOrigin(address, rules);
      if (url === null || problems.length > 0) throw usageFailure(`The address of the document ${problems.join(', ')}.`);
      try {
        const accepted = { accept: 'application/json, application/yaml, */*;q=0.1', 'accept-encoding': 'identity' };
        const { status, headers, body } = await send(url, { ...accepted, 'user-agent': 'intent-gate' }, AbortSignal.timeout(deadlineMs));
        if (status === 200) return body;
        const { location } = headers;
        const hint =
          status >= 300 && status < 400 && location !== undefined ? ` It redirects to ${location}; give that address if you trust it.` : '';
        throw new CliFailure('failure', `The address answered with status ${status}.${hint}`);
      } catch (error) {
        if (error instanceof CliFailure) throw error;
        const reason = error instanceof DialError ? complaints[error.failure] : 'the connection broke, took too long or sent too much';
        throw new CliFailure('failure', `The document was not fetched${throughProxy(address)}: ${reason}.`, { cause: error });
      }
    },
    close: client.close,
  };
}
