import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { redirectUriOf } from '../../functions/connections/connections.ts';
import { connectionKeys } from '../../functions/connections/records.ts';
import { personOf } from '../../functions/core/pat/holder.ts';
import { openPages } from '../support/connections/pages.ts';
import { openConnectionParts } from '../support/connections/parts.ts';
import { baseUrl, startGate } from '../support/gate.ts';
import type { Answer } from '../support/invoke.ts';
import { notTested } from '../support/not-tested.ts';
import { openBrowser } from '../support/sign-in/sign-in.ts';

// The gate as a client of an authorization server that nobody here wrote: Filip Skokan's oidc-provider.

const packages = ['oidc-provider@9.13.3'];
// stays, so that the next run finds it there
const installed = resolve('node_modules/.cache/intent-gate/oidc-provider');
const options = ['--prefix', installed, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
const isInstalled = await promisify(execFile)('npm', ['install', ...options, ...packages]).then(
  () => true,
  (error: Error) => notTested(packages.join(', '), error),
);
const onlyIfInstalled = isInstalled ? test : test.skip;

const gate = await startGate();
const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill();
  return gate.stop();
});
const parts = openConnectionParts(gate, { timeoutMs: 4_000 });
const pages = openPages(gate, parts);
const origin = 'https://world.example';
const lifeSeconds = 3_600;

/** Starts the server, whose only client may return to the page of this service. */
async function startProvider(serviceId: string) {
  const program = resolve(installed, 'node_modules/oidc-provider/lib/index.js');
  const words = ['test/hosts/issuer.js', program, redirectUriOf(serviceId, baseUrl), String(lifeSeconds)];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const [first] = await once(reader, 'line');
  // not the library's remarks
  reader.on('line', (line) => line.startsWith('grant.') && lines.push(line));
  started.push(child);
  return { issuer: `http://127.0.0.1:${String(first).replace('port ', '')}`, lines };
}

/** Signs in at the server and agrees to everything. @returns the parameters of the callback */
async function agree(submitted: Answer): Promise<Record<string, string>> {
  const browser = openBrowser();
  const [, address = ''] = /^0;url=(.*)$/.exec(String(submitted.headers.Refresh)) ?? [];
  let page = await browser.request(address);
  for (let steps = 0; steps < 10; steps++) {
    const [, action] = /<form[^>]* action="([^"]*)"/.exec(page.text) ?? [];
    if (page.next?.startsWith(baseUrl)) return Object.fromEntries(new URL(page.next).searchParams);
    const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? '';
    if (page.next) page = await browser.request(new URL(page.next, address).href);
    else page = await browser.request(new URL(action ?? '', address).href, new URLSearchParams({ prompt, login: 'ann', password: 'any' }));
  }
  throw new Error(`the server has not agreed: ${page.status} ${page.text.slice(0, 500)}`);
}

onlyIfInstalled(
  'a person connects, and 200 calls at the same time on one expired grant, whose refresh tokens rotate, are served by one refresh, five times out of five',
  async () => {
    const { service_id: serviceId } = await gate.services.create({ service_name: 'A', service_url: origin, description: 'A' });
    const { issuer, lines } = await startProvider(serviceId);
    const client = { issuer, client_id: 'gate', client_secret: 'canary-secret-of-the-client', scopes: ['openid', 'offline_access'] };
    expect(await parts.putCredential(serviceId, { oauth: { ...client, grant: 'person' }, origins: [origin] })).toMatchObject({
      status: 200,
    });
    const browser = await pages.signIn('ann');
    const last = await pages.callBack(serviceId, browser, await agree(await pages.submit(serviceId, browser)));
    expect({ status: last.status, body: last.body }).toEqual({ status: 200, body: expect.stringContaining('You are connected to A') });

    // each time with the refresh token of the time before
    const expected = ['grant.success authorization_code'];
    for (let round = 1; round <= 5; round++) {
      const later = () => parts.openTokens({ now: () => Date.now() + round * lifeSeconds * 1_000 });
      const sources = [later(), later(), later()];
      const values = await Promise.all(Array.from({ length: 200 }, (_, at) => parts.obtain(sources[at % 3], serviceId, 'ann')));
      expect(new Set(values.map(({ headers }) => headers.Authorization)).size).toBe(1);
      expected.push('grant.success refresh_token');
      expect(lines).toEqual(expected);
    }

    // what the last one got is revoked when the connection ends
    const key = connectionKeys.ofPerson(personOf('ann'), serviceId);
    const item = await parts.connections.find('ann', serviceId);
    const tokens = item && (await parts.openGrants().open(key, item));
    if (!tokens) throw new Error('there are no tokens');
    await parts.issuers.revoke({ ...client, grant: 'person' }, tokens, baseUrl);
    expect(lines.slice(expected.length)).toEqual(['grant.revoked ']);

    expect(await parts.putCredential(serviceId, { oauth: { ...client, scopes: [], grant: 'client' }, origins: [origin] })).toMatchObject({
      status: 200,
    });
    expect((await parts.obtain(undefined, serviceId)).headers.Authorization).toMatch(/^Bearer \S+$/);
    expect(lines.at(-1)).toBe('grant.success client_credentials');
  },
  120_000,
);
