import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { listAssets } from '../../../console/assets.ts';
import { renderConsole, renderReference } from '../../../console/pages.ts';
import { type Action, serve } from '../../../functions/core/http/serve.ts';
import { parsePolicyTemplate } from '../../../functions/core/policy/template.ts';
import { createAction as createConsole } from '../../../functions/documents/get-console.ts';
import { createAction as createPage } from '../../../functions/documents/get-docs.ts';
import { createAction as createAsset } from '../../../functions/documents/get-docs-asset.ts';
import { createAction as createOpenApi } from '../../../functions/documents/get-openapi.ts';
import { toOpenApi } from '../../../lib/documents/document.ts';
import { type Call, eventOf, invoke, refusalOf } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';

const policyText = readFileSync('policy.json', 'utf8');
const assets = listAssets();
const html = { '/docs': renderReference('uim', assets), '/console': renderConsole('uim', assets) };

const docs = (template = parsePolicyTemplate(policyText)): Action =>
  createPage({ readPage: () => html['/docs'], findPolicy: openPolicy(template) });
const readConsole = () => html['/console'];
const files = createAsset({ readAsset: (name) => assets.find((asset) => asset.name === name)?.text });

/** The response as the gateway receives it; these bodies are not JSON. */
const answer = (steps: Action, path: string, call?: Call) =>
  serve(steps, { protocol: 'proto' })(eventOf(`GET ${path}`, call), {} as Context);

describe.each([
  ['/docs', docs(), ''],
  ['/console', createConsole({ readConsole }), "connect-src 'self'; "],
] as const)('the page of %s', (path, steps, connect) => {
  test('a page is HTML that may only run its own files and call this gate', async () => {
    const { statusCode, headers, body } = await answer(steps, path);
    expect(statusCode).toBe(200);
    expect(headers).toEqual({
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; ${connect}require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
      ETag: expect.stringMatching(/^"[\w-]{22}"$/),
      'X-Content-Type-Options': 'nosniff',
      'Strict-Transport-Security': 'max-age=31536000',
      'X-Request-Id': 'request-1',
    });
    expect(body).not.toMatch(/<script(?! [^>]*src=)|<style|\sstyle=|\son\w+=|javascript:/i);
  });

  test('a page links only to existing files, by relative addresses', () => {
    const addresses = [...html[path].matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(addresses.filter((address) => /^(\/|https?:)/.test(address))).toEqual([]);
    const named = addresses.filter((address) => address.startsWith('docs/')).map((address) => address.slice('docs/'.length));
    expect(named.filter((name) => !assets.some((asset) => asset.name === name))).toEqual([]);
  });
});

test('/docs shows the policy in plain words, and error references under the name of the protocol', async () => {
  const obligation = [{ action: 'sign', target: 'https://terms.example/?a=<b>&c=$&' }];
  const template = { ...parsePolicyTemplate(policyText), obligation };
  const { body } = await answer(docs(template), '/docs');
  expect(body).toContain('<li>You may execute every intent, at most 60 times a minute.</li>');
  expect(body).toContain('<li>Sign https://terms.example/?a=&lt;b&gt;&amp;c=$&amp; with your agent&#39;s key before the first call.</li>');
  expect(body).toContain('<td>UIM-INT-010</td>');
  expect(body).not.toContain('PROTO-');
});

describe('the console', () => {
  const signIn = { domain: 'https://pool.example', clientId: 'console' };
  test.each([
    ['where admins may sign in', { signIn }, { signIn, publicUrl: 'https://api.example/test' }],
    ['where people may sign in for programs', { offersSignIn: true }, { offersSignIn: true }],
    ['in its version', { version: '1.2.3' }, { version: '1.2.3' }],
  ] as const)('the console knows the deployment: %s', async (_, deps, known) => {
    const { headers, body } = await answer(createConsole({ readConsole, ...deps }), '/console');
    const [, written = ''] = /data-deployment="([^"]*)"/.exec(String(body)) ?? [];
    expect(JSON.parse(written.replaceAll('&quot;', '"'))).toMatchObject(known);
    const connect = 'signIn' in deps ? "connect-src 'self' https://pool.example;" : "connect-src 'self';";
    expect(headers).toMatchObject({ 'Content-Security-Policy': expect.stringContaining(connect) });
  });
});

describe('the files of the pages', () => {
  const types: Record<string, string> = { js: 'text/javascript', css: 'text/css', txt: 'text/plain' };

  test('the files of the pages may be cached indefinitely, and are small enough for a response of a function', async () => {
    for (const { name, text } of assets) {
      const { statusCode, headers, body } = await answer(files, '/docs/{asset}', { path: { asset: name } });
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'Content-Type': `${types[name.split('.').at(-1) ?? '']}; charset=utf-8`,
        'Cache-Control': 'public, max-age=31536000, immutable',
        'X-Content-Type-Options': 'nosniff',
        'Strict-Transport-Security': 'max-age=31536000',
      });
      expect(body).toBe(text);
      expect(Buffer.byteLength(text)).toBeLessThan(5_000_000);
      // the pages insert text only
      expect(text).not.toMatch(/dangerouslySetInnerHTML:|insertAdjacentHTML|document\.write/);
    }
  });

  test('the schema of policies keeps its name, so it must be revalidated', async () => {
    const text = '{"title":"a schema"}';
    const steps = createAsset({ readAsset: (name) => (name === 'policy.schema.json' ? text : undefined) });
    const path = { asset: 'policy.schema.json' };
    const { statusCode, headers, body } = await answer(steps, '/docs/{asset}', { path });
    expect([statusCode, body]).toEqual([200, text]);
    expect(headers).toMatchObject({ 'Content-Type': 'application/schema+json', 'Cache-Control': 'no-cache', ETag: expect.any(String) });
    const again = await answer(steps, '/docs/{asset}', { path, headers: { 'If-None-Match': String(headers?.ETag) } });
    expect(again).toMatchObject({ statusCode: 304, body: '' });
  });

  test.each(['..%2Findex.mjs', 'console.js', 'constructor', ''])('the pages have no file %j', async (asset) => {
    expect(refusalOf(await invoke(files, 'GET /docs/{asset}', { path: { asset } }))).toEqual({
      status: 404,
      code: 'NOT_FOUND',
      message: 'No file has this name. Reload the page, which links to the current files.',
      details: {},
    });
  });
});

test('the OpenAPI document names the requested address as its server', async () => {
  const document = toOpenApi({ protocol: 'proto', aliases: true, policy: policyText });
  const { status, headers, body } = await invoke(createOpenApi({ readDocument: () => document }), 'GET /openapi.json');
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'no-cache', ETag: expect.any(String) });
  expect(body).toEqual(JSON.parse(JSON.stringify({ ...document, servers: [{ url: 'https://api.example/test' }] })));
});
