import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { close, listen } from '../../bin/local/http.ts';
import { type Browser, startBrowser } from '../../tools/chromium.ts';
import { given, startGate } from './console-page.ts';

/** A host name of the attacker, which used to resolve to the attacker's page and now resolves to the victim's machine. */
const name = 'rebound.example';

/** Script of the attacker's page. */
const script = `(() => {
const send = (requests) => Promise.all(requests.map(async (request) => {
  const { to, method = request.body === undefined ? 'GET' : 'POST', target, type, body, mode } = request;
  const headers = { ...(type && { 'Content-Type': type }), ...(target && { 'X-Amz-Target': target }) };
  try {
    const answer = await fetch(to, { method, headers, body, mode });
    return { ...request, status: answer.status, text: await answer.text() };
  } catch {
    return { ...request, status: 0, text: '' };
  }
}));

let count = 0;
/** Posts a form into a frame, which any origin may do. */
const post = (action, enctype, name) => new Promise((resolve) => {
  const target = 'frame' + count++;
  const frame = Object.assign(document.createElement('iframe'), { name: target });
  const form = Object.assign(document.createElement('form'), { action, method: 'post', enctype, target });
  form.append(Object.assign(document.createElement('textarea'), { name }));
  frame.onload = () => {
    // the first event is of the empty frame, the second of the response
    frame.onload = () => resolve(frame.remove());
    form.submit();
  };
  document.body.append(form, frame);
});

/** Loads URLs as elements of a kind. @returns those that the browser could use */
const embed = (addresses, tag, attribute) => Promise.all(addresses.map((address) => new Promise((resolve) => {
  const element = Object.assign(document.createElement(tag), { [attribute]: address, rel: 'stylesheet' });
  element.onload = () => resolve([address]);
  element.onerror = () => resolve([]);
  document.head.append(element);
}))).then((loaded) => loaded.flat());

Object.assign(globalThis, { send, post, embed });
})()`;
const html = `<!doctype html><title>Look here</title><link rel="icon" href="data:,"><body><script>${script}</script>`;

const attacker = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(html));
const attackerPort = await listen(attacker);

/** Requests that the gateway answered, and functions that ran. */
const answered: string[] = [];
const ran: string[] = [];

const api = await startGate({
  demo: true,
  environment: { LOG_LEVEL: 'INFO' },
  onAnswered: ({ method, path, status }) => answered.push(`${method} ${path} ${status}`),
  onLog: (_, functionName) => ran.push(functionName),
});

let browser: Browser;
let page: Page;
afterAll(async () => {
  await Promise.all([browser?.close(), close(attacker)]);
});

/** A request of a page. A request with a body is a POST by default; across origins, the type `json` causes a preflight request. */
interface Sent {
  to: string;
  method?: string;
  target?: string;
  type?: string;
  body?: string;
  mode?: 'no-cors';
}

interface Outcome extends Sent {
  /** the status that the page sees; 0 if it may not read the response */
  status: number;
  text: string;
}

/** Sends requests from a page. @returns what the page can read of the responses */
const sendFrom = (page: Page, requests: Sent[]): Promise<Outcome[]> => page.evaluate(`send(${JSON.stringify(requests)})`);

const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'];
const json = 'application/x-amz-json-1.1';

given("an attacker's page, in the browser of the person who runs the stack,", () => {
  beforeAll(async () => {
    browser = await startBrowser({ names: [name] });
    page = await browser.context.newPage();
  }, 60_000);

  const { stack } = api;
  const settings = stack.definitionOf?.('mcp').environment ?? {};
  const found = [...`${JSON.stringify(stack)} ${Object.values(settings).join(' ')}`.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)];
  /** Ports of the gateway, the demo service and all stand-ins. Nothing listens on port 9. */
  const ports = [...new Set(found.map(([, port]) => Number(port)))].filter((port) => port !== 9);
  const poolId = settings.USER_POOL_ID ?? stack.issuer.split('/').at(-1);
  const functionName = stack.definitionOf?.('get-jwks').name;

  /** Requests that parts of the stack understand. All of them are sent to all parts. */
  const attacks: (Omit<Sent, 'to' | 'mode'> & { path: string })[] = [
    { path: '/' },
    { path: '/console' },
    { path: '/api/intents/search?query=country' },
    { path: '/countries/CH' },
    { path: '/openapi.json' },
    { path: '/mcp', type: 'application/json', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
    {
      path: '/api/services',
      type: 'application/json',
      body: '{"service_name":"Mallory","service_url":"https://evil.example","description":"x"}',
    },
    { path: '/api/pat/issue', type: 'application/json', body: '{"agent_id":"mallory"}' },
    { path: `/${poolId}/.well-known/jwks.json` },
    { path: '/oauth2/token', type: 'application/x-www-form-urlencoded', body: 'grant_type=authorization_code&code=x' },
    ...[
      ['CreateGroup', { UserPoolId: poolId, GroupName: 'mallory' }],
      ['AdminAddUserToGroup', { UserPoolId: poolId, Username: 'user', GroupName: 'admins' }],
    ].map(([operation, input]) => ({
      path: '/',
      target: `AWSCognitoIdentityProviderService.${operation}`,
      type: json,
      body: JSON.stringify(input),
    })),
    { path: '/', target: 'DynamoDB_20120810.ListTables', type: 'application/x-amz-json-1.0', body: '{}' },
    { path: '/', target: 'DynamoDB_20120810.Scan', type: 'application/x-amz-json-1.0', body: `{"TableName":"${settings.REGISTRY_TABLE}"}` },
    { path: '/', target: 'TrentService.GetPublicKey', type: json, body: '{"KeyId":"any"}' },
    { path: '/', target: 'secretsmanager.CreateSecret', type: json, body: '{"Name":"mallory","SecretString":"x"}' },
    { path: '/', target: 'secretsmanager.GetSecretValue', type: json, body: '{"SecretId":"mallory"}' },
    { path: '/bucket/key' },
    { path: '/bucket/key', method: 'PUT', body: 'x' },
    { path: `/2015-03-31/functions/${functionName}/invocations`, type: 'application/json', body: '{"httpMethod":"GET"}' },
  ];

  test("a page that reaches the stack by the attacker's host name (DNS rebinding) gets nothing from any port", async () => {
    expect(ports.length).toBeGreaterThanOrEqual(9);
    answered.length = ran.length = 0;
    for (const port of ports) {
      // as the attacker's page would, which was loaded from this origin before
      await page.goto(`http://${name}:${port}/attack`);
      await page.evaluate(script);
      const outcomes = await sendFrom(
        page,
        attacks.map(({ path, ...attack }) => ({ to: path, ...attack })),
      );
      expect(outcomes.filter(({ status }) => ![403, 421].includes(status)).map((outcome) => ({ port, ...outcome }))).toEqual([]);
      expect(outcomes).toHaveLength(attacks.length);
    }
    expect(answered.filter((line) => !line.endsWith(' 421'))).toEqual([]);
    expect(ran).toEqual([]);
  });

  test.each([
    ['at another port of this machine', `http://127.0.0.1:${attackerPort}/`],
    ['at its own host name', `http://${name}:${attackerPort}/`],
  ])("an attacker's page %s reads nothing and changes nothing, with and without preflight requests", async (_, address) => {
    await page.goto(address);
    answered.length = ran.length = 0;
    for (const port of ports) {
      const base = `http://127.0.0.1:${port}`;
      const asked = attacks.map(({ path, ...attack }) => ({ to: base + path, ...attack }));
      const blind = attacks.map(({ path, body }) => ({
        to: base + path,
        mode: 'no-cors' as const,
        type: 'text/plain',
        ...(body && { body }),
      }));
      expect((await sendFrom(page, [...asked, ...blind])).filter(({ status, text }) => status !== 0 || text !== '')).toEqual([]);
      // the bodies have been sent as plain text above
      const forms = attacks.flatMap(({ path, body }, at) =>
        body === undefined ? [] : `post(${JSON.stringify(base + path)}, '${formTypes[at % 3]}', ${JSON.stringify(body)})`,
      );
      await page.evaluate(`Promise.all([${forms.join()}]).then(() => {})`);
      const addresses = JSON.stringify(attacks.map(({ path }) => base + path));
      expect(await page.evaluate(`embed(${addresses}, 'img', 'src')`)).toEqual([]);
      expect(await page.evaluate(`embed(${addresses}, 'link', 'href')`)).toEqual([]);
    }
    const changes = answered.filter((line) => !/^(GET|OPTIONS) /.test(line));
    expect(changes.length).toBeGreaterThan(0);
    expect(changes.filter((line) => !line.endsWith(' 403'))).toEqual([]);
    // the last two run by the clock
    expect(ran.filter((functionName) => !/^(get|list|search|mcp|countusage|sequencereceipts)/.test(functionName))).toEqual([]);
    expect(ran).not.toContain(functionName);
  });
});
