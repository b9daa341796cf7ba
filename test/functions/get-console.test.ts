import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { type Action, serve } from '../../functions/core/http/serve.ts';
import { createAction } from '../../functions/get-console.ts';
import { renderConsole } from '../../lib/console/page.ts';
import { listAssets } from '../../lib/docs/assets.ts';
import { type Call, eventOf } from '../support/invoke.ts';

const assets = listAssets();
const html = renderConsole(assets);

/** The response as the gateway gets it: the body is not JSON. */
const answer = (steps: Action, call: Call) => serve(steps, { protocol: 'proto' })(eventOf(call), {} as Context);

test('the console is HTML that may run its own files and call this gate, and nothing else', async () => {
  const { statusCode, headers, body } = await answer(createAction({ readConsole: () => html }), { path: '/console' });
  expect(statusCode).toBe(200);
  expect(headers).toMatchObject({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
    ETag: expect.stringMatching(/^"[\w-]{22}"$/),
  });
  expect(body).not.toMatch(/<script(?! [^>]*src=)|<style|\sstyle=|\son\w+=|javascript:/i);
  expect(body).toContain('data-deployment="{&quot;publicUrl&quot;:&quot;https://api.example/test&quot;}"');
});

test('where admins may sign in, it may also ask the user pool for tokens', async () => {
  const signIn = { domain: 'https://pool.example', clientId: 'console' };
  const { headers, body } = await answer(createAction({ readConsole: () => html, signIn }), { path: '/console' });
  expect(headers).toMatchObject({ 'Content-Security-Policy': expect.stringContaining("connect-src 'self' https://pool.example;") });
  expect(body).toContain(
    '&quot;signIn&quot;:{&quot;domain&quot;:&quot;https://pool.example&quot;,&quot;clientId&quot;:&quot;console&quot;}',
  );
});

test('where people may sign in for programs, it knows that there is a second address for MCP', async () => {
  const { body } = await answer(createAction({ readConsole: () => html, offersSignIn: true }), { path: '/console' });
  expect(body).toContain('&quot;offersSignIn&quot;:true');
});

test('it has only relative addresses, of existing files', () => {
  const addresses = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses.filter((address) => /^(\/|https?:)/.test(address))).toEqual([]);
  const named = addresses.filter((address) => address.startsWith('docs/')).map((address) => address.slice('docs/'.length));
  expect(named).toHaveLength(3);
  expect(named.filter((name) => !assets.some((asset) => asset.name === name))).toEqual([]);
});

test('what is loaded at first has less than 150 KB compressed', () => {
  const first = new Map<string, string>();
  /** The file, and what it imports at once. */
  const load = (name: string): void => {
    const { text = '' } = assets.find((asset) => asset.name === name) ?? {};
    if (first.has(name)) return;
    first.set(name, text);
    for (const [, other = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) load(other);
  };
  for (const file of ['console.js', 'console.css']) load(assets.find((asset) => asset.file === file)?.name ?? '');
  expect(first.size).toBeGreaterThan(3);
  expect([...first.keys()].filter((name) => /^(importer|console-view|build)/.test(name))).toEqual([]);
  expect([html, ...first.values()].reduce((bytes, text) => bytes + gzipSync(text).length, 0)).toBeLessThan(150_000);
});

test('its scripts write no markup', () => {
  const scripts = assets.filter(({ file, name }) => name.endsWith('.js') && !/^(swagger|reference)/.test(file));
  expect(scripts.filter(({ text }) => /dangerouslySetInnerHTML:|insertAdjacentHTML|document\.write/.test(text))).toEqual([]);
});
