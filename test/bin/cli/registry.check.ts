import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { openCommandLine } from './command-line.ts';
import { documentOf, responses, rewrite, serve, startSignedIn } from './signed-in.ts';

const { stack, folder, run, succeed, succeedJson, writeTo, createService } = await startSignedIn();

test('an exported file shows no drift; an edited one does until it is applied', async () => {
  const file = join(folder, 'registry.yaml');
  await succeed('export', '--service', 'World facts', '-o', file);
  expect(await run(['diff', file])).toEqual({ code: 0, stdout: 'The registry matches the file.\n', stderr: '' });
  const exported = await readFile(file, 'utf8');
  expect(exported).toContain('- intent_uid: world.example:convert-time:v1');

  await writeFile(file, exported.replace('intent_name: Describe a country', 'intent_name: Tell about a country'));
  const drift = await run(['diff', file]);
  expect(drift.code).toBe(2);
  expect(drift.stdout).toContain('/intent_name: "Describe a country" -> "Tell about a country"');
  expect(drift.stderr).toBe('The registry differs from the file. Run "apply" to update it; --prune also removes intents.\n');
  expect(await succeed('apply', file)).toBe('World facts: 0 created, 1 changed, 0 removed\n');
  expect((await run(['diff', file])).code).toBe(0);

  await succeed('intents', 'delete', 'world.example:get-country:v1', '--yes');
  expect(await succeed('apply', file)).toBe('World facts: 1 created, 0 changed, 0 removed\n');
  await succeed('export', '--service', 'World facts', '-o', file);
  expect(await readFile(file, 'utf8')).toBe(exported.replace('intent_name: Describe a country', 'intent_name: Tell about a country'));
});

test('an export that fails leaves the existing file unchanged', async () => {
  const file = join(folder, 'kept.yaml');
  expect(await succeedJson('export', '--service', 'World facts', '-o', file)).toEqual({ services: 1, intents: 12 });
  const before = await readFile(file, 'utf8');
  expect((await run(['export', '--service', 'World facts', '--service', 'None', '-o', file])).code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe(before);
  expect((await readdir(folder)).filter((name) => name.includes('.new-'))).toEqual([]);
  expect(await run(['export', '--service', 'World facts', '-o', join(folder, 'none', 'x.yaml')])).toMatchObject({
    code: 3,
    stderr: `The file ${join(folder, 'none', 'x.yaml')} cannot be written (ENOENT).\n`,
  });
});

test('an export into a folder writes a file for each service, which diff and apply read as one registry', async () => {
  const paths = { '/a': { get: { operationId: 'a', responses } } };
  await succeed('import', await writeTo('even.json', documentOf('even', 'https://even.example', paths)));
  const files = join(folder, 'services');
  const services = ['World facts', 'even'].flatMap((name) => ['--service', name]);
  await succeed('export', ...services, '--folder', files);
  expect(await readdir(files)).toEqual(['even.yaml', 'world-facts.yaml']);
  expect(await run(['diff', files])).toMatchObject({ code: 0 });
  await writeFile(join(files, 'copy.yaml'), await readFile(join(files, 'even.yaml')));
  expect(await run(['apply', files])).toMatchObject({
    code: 3,
    stderr: 'The service even is in copy.yaml and in even.yaml. Remove it from one of them.\n',
  });
  await rewrite(join(files, 'copy.yaml'), (text) => text.replace('service_name: even', 'service_name: odd'));
  expect(await run(['apply', files])).toMatchObject({
    code: 3,
    stderr: 'The intent even.example:a:v1 is in copy.yaml and in even.yaml. Remove it from one of them.\n',
  });
  expect((await run(['export', '--folder', files])).stderr).toContain('The folder also has copy.yaml, which this export did not write.');
  const twice = { service_name: 'Twice', service_url: 'https://twice.example', description: 'Is there twice', intents: [] };
  const file = await writeTo('twice.json', { registry: 1, services: [twice, { ...twice, service_name: 'twice ' }] });
  expect(await run(['apply', file])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('/services/1/service_name must not appear'),
  });
});

test('a draft can be applied, compared and published, and the history shows every change', async () => {
  const service = {
    service_name: 'Drafted',
    service_url: 'https://draft.example',
    description: 'Is not ready',
    namespace: 'draft.example',
  };
  const intent = intentOf('draft.example:act:v1', {
    intent_name: 'Act',
    endpoint: { method: 'POST', url: 'https://draft.example/act', content_type: 'application/json' },
  });
  const write = (more: object) => writeTo('drafts.json', { registry: 1, services: [{ ...service, intents: [{ ...intent, ...more }] }] });
  const file = await write({ draft: true });
  const [{ applied }] = await succeedJson('apply', file);
  const { service_id: id } = applied;
  expect(await succeed('intents', 'show', 'draft.example:act:v1')).toContain('https://draft.example/act (draft)');
  expect(await succeed('intents', 'list', '--service', id)).toBe('draft.example:act:v1  Act  draft\n');

  await write({});
  expect((await run(['diff', file])).stdout).toContain('/draft: true -> nothing');
  await succeed('apply', file);
  const lines = (await succeed('history', '--id', 'draft.example:act:v1', '--json')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line)).map(({ changes, actor }) => [changes[0].action, actor.user_name])).toEqual([
    ['update', 'admin'],
    ['create', 'admin'],
  ]);
  expect(await succeed('history', '--since', '1h', '--kind', 'service', '--actor', 'admin')).toMatch(
    new RegExp(`^\\d+ +\\d{4}-.+Z  admin  create +service  ${id}$`, 'm'),
  );
  await succeed('services', 'delete', id, '--yes');
}, 120_000);

test('services and intents are created, shown, changed and deleted', async () => {
  const file = await writeTo(
    'intent.yaml',
    'intent_uid: hand.example:act:v1\nintent_name: Act\ndescription: Acts\ninput_parameters: []\noutput_parameters: []\nendpoint: https://hand.example/\n',
  );
  const { service_id } = await createService('By hand', 'https://hand.example', 'Made by hand');
  expect(await succeed('intents', 'create', '--service', service_id, '-f', file)).toBe('Created hand.example:act:v1.\n');
  expect((await succeedJson('services', 'list')).map((one: { service_name: string }) => one.service_name)).toContain('By hand');
  expect(await succeed('intents', 'list', '--service', 'by  HAND')).toBe('hand.example:act:v1  Act\n');
  expect(await succeedJson('services', 'update', service_id, '--description', 'Changed')).toMatchObject({
    service_name: 'By hand',
    description: 'Changed',
  });
  expect(await succeed('intents', 'show', 'hand.example:act:v1')).toBe(
    'Act hand.example:act:v1\nBy hand: POST https://hand.example/\nActs\n',
  );
  await succeed('services', 'delete', service_id, '--yes');
  expect(await run(['intents', 'show', 'hand.example:act:v1'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/^NOT_FOUND: /) });
});

test('a service is paused and resumed; a file that does not mention the pause does not resume it', async () => {
  const file = await writeTo('paused.json', {
    registry: 1,
    services: [{ service_name: 'Pausable', service_url: 'https://pause.example', description: 'Pauses', intents: [] }],
  });
  const [{ applied }] = await succeedJson('apply', file);
  const { service_id } = applied;
  expect(await succeed('services', 'pause', 'pausable')).toBe('Paused Pausable: its intents are no longer executed.\n');
  expect(await succeed('services', 'list', '--name', 'Pausable')).toContain('  paused');
  await succeed('services', 'update', service_id, '--description', 'Pauses');
  expect((await run(['diff', file])).code).toBe(0);
  expect((await succeedJson('export', '--service', service_id)).services[0]).toMatchObject({ paused: true });

  await rewrite(file, (text) => text.replace('"intents"', '"paused":false,"intents"'));
  expect((await run(['diff', file])).stdout).toContain('/paused: true -> nothing');
  await succeed('apply', file);
  expect(await succeedJson('export', '--service', service_id)).not.toHaveProperty('services.0.paused');

  expect(await succeedJson('services', 'pause', service_id)).toEqual({ service_id, paused: true });
  expect(await succeed('services', 'resume', service_id)).toBe('Resumed Pausable.\n');
  expect(await run(['services', 'pause', 'Pausible'])).toMatchObject({
    code: 1,
    stderr: 'No service has this name or id. The nearest is "Pausable". List all services with "intent-gate services list".\n',
  });
  await succeed('services', 'delete', service_id, '--yes');
});

test('"create" accepts the output of "show --json", and "update --header" keeps the other header fields', async () => {
  const made = await createService('Copied', 'https://copied.example', 'Is copied', '--header', 'X-A: 1', '--header', 'X-B: 2');
  const record = await succeedJson('services', 'show', made.service_id);
  await succeed('services', 'delete', made.service_id, '--yes');
  const file = await writeTo('copied.json', record);
  const { service_id } = await succeedJson('services', 'create', '--file', file, '--name', 'Copied again');
  expect(await run(['services', 'update', service_id])).toMatchObject({ code: 3, stderr: expect.stringContaining('Say with an option') });
  await succeed('services', 'update', service_id, '--header', 'x-a: 3', '--header', 'X-C: 4');
  expect((await succeedJson('services', 'show', service_id)).headers).toEqual({ 'X-B': '2', 'x-a': '3', 'X-C': '4' });
  const intent = await writeTo('copied-intent.json', intentOf('copied.example:act:v1', { tags: ['tag'] }));
  await succeed('intents', 'create', '--service', service_id, '-f', intent);
  const shown = await succeedJson('intents', 'show', 'copied.example:act:v1');
  await succeed('intents', 'delete', 'copied.example:act:v1', '--yes');
  await succeed('intents', 'create', '--service', service_id, '-f', await writeTo('shown-intent.json', shown));
  expect(await succeedJson('intents', 'show', 'copied.example:act:v1')).toEqual(shown);
  await succeed('services', 'delete', service_id, '--yes');
});

const registryOf = (...services: object[]) => ({ registry: 1, services });

test('"apply" reports a service that is refused by its name, and changes the others', async () => {
  await createService('Bound', 'https://world.example', 'Facts about the world', '--namespace', 'bound.example');
  const [first, bound, last] = ['First', 'Bound', 'Last'].map((name) => ({ ...serviceNamed(name), intents: [] }));
  const file = await writeTo('one-refused.json', registryOf({ ...first }, { ...bound, namespace: 'other.example' }, { ...last }));
  const { code, stdout, stderr } = await run(['apply', file, '--json']);
  expect([code, JSON.parse(stderr).error.message]).toEqual([
    1,
    '1 service failed; all other changes were made. Fix the problems and run the command again.',
  ]);
  const applied = JSON.parse(stdout).map((one: { applied: { refused?: { issues: object[] } } }) => one.applied.refused?.issues);
  expect(applied).toEqual([undefined, [{ path: '/namespace', problem: expect.any(String) }], undefined]);
  expect((await run(['apply', file])).stdout).toMatch(/^First: 0 created.*\n {2}! Bound: .*\n {6}\/namespace must be .*\nLast: 0 created/);
  for (const name of ['First', 'Bound', 'Last']) await succeed('services', 'delete', name, '--yes');
});

test('Ctrl-C ends "apply" after the service that it is changing', async () => {
  const file = await writeTo('many-services.json', registryOf(...[1, 2, 3].map((at) => ({ ...serviceNamed(`Many ${at}`), intents: [] }))));
  let stop = () => {};
  const proxy = await serve(async (request, response) => {
    const { method = 'GET', url = '', headers } = request;
    const { 'content-type': contentType, authorization } = headers;
    const named = { ...(contentType && { 'Content-Type': contentType }), ...(authorization && { Authorization: authorization }) };
    if (method === 'POST') stop();
    const answer = await fetch(stack.base_url + url, { method, headers: named, body: method === 'GET' ? null : await buffer(request) });
    response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
  });
  const { runAlone } = await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.admin_token });
  const stopped = await runAlone(['apply', file, '--url', proxy.address], '', false, async (child) => {
    stop = () => child.kill('SIGINT');
  });
  await proxy.stop();
  expect(stopped).toMatchObject({
    code: 130,
    stderr: expect.stringContaining('Stopped after 1 of 3 services. Run the same command again to finish.'),
  });
  expect(await succeed('apply', file)).toMatch(/^Many 1: .*\nMany 2: .*\nMany 3: /);
  for (const at of [1, 2, 3]) await succeed('services', 'delete', `Many ${at}`, '--yes');
});

test('a list is CSV with --csv, and what a list cannot use or does not find is said', async () => {
  expect((await run(['intents', 'list', 'time', '--csv'])).stdout).toMatch(/^intent_uid,/);
  expect(await run(['intents', 'list', 'zzzz'])).toMatchObject({ code: 0, stdout: '', stderr: 'No intent matches.\n' });
  expect(await run(['intents', 'list', '--service', 'World facts', '--limit', '3'])).toMatchObject({ code: 3 });
});

test('a refusal is shown with every issue', async () => {
  const file = await writeTo(
    'wrong.yaml',
    'intent_uid: wrong.example:act:v1\nintent_name: Act\ndescription: Acts\ninput_parameters: [{ name: a, type: string, pattern: (a }]\noutput_parameters: []\nendpoint: ftp://x\n',
  );
  const { code, stderr } = await run(['intents', 'create', '--service', 'World facts', '-f', file]);
  expect(code).toBe(1);
  expect(stderr).toContain('\n  /input_parameters/0/pattern must be ');
  expect(stderr).toContain('\n  /endpoint/url must begin with https://');
});

test('an unknown uid is answered with the nearest ones', async () => {
  expect(await run(['intents', 'show', 'world.example:get-contry:v1'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^NOT_FOUND: [^\n]+\nDid you mean world\.example:get-country:v1(, [^\n]+)?\?\n {2}request [^\n]+\n$/),
  });
});

test('blocking an unknown id says so, and needs --yes', async () => {
  const words = ['agents', 'block', 'nobody-like-this', '--reason', 'misspelt'];
  expect(await run(words)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'No agent with this id has a PAT yet. Nothing was changed. Check the id, or use --yes.\n',
  });
  expect(await succeedJson('agents', 'list', '--state', 'blocked')).toEqual([]);
  expect(await succeed(...words, '--yes')).toBe('Blocked nobody-like-this until you unblock it. No agent with this id has a PAT yet.\n');
  await succeed('agents', 'unblock', 'nobody-like-this');
});

test('"update" accepts the output of "show --json"', async () => {
  const uid = 'world.example:get-country:v1';
  for (const [noun, id] of [
    ['intents', uid],
    ['services', 'World facts'],
  ] as const) {
    const shown = await succeedJson(noun, 'show', id);
    const file = await writeTo(`${noun}.json`, { ...shown, description: `${shown.description} Edited.` });
    await succeed(noun, 'update', id, '--file', file);
    expect((await succeedJson(noun, 'show', id)).description).toBe(`${shown.description} Edited.`);
    if (noun === 'intents')
      expect(await run([noun, 'update', id, '--file', file])).toMatchObject({ code: 1, stderr: expect.stringContaining('/digest') });
    const { digest: _, ...definition } = shown;
    await writeFile(file, JSON.stringify(definition));
    await succeed(noun, 'update', id, '--file', file);
  }
});

test('a change is reported as made if the answer to it was lost', async () => {
  const proxy = await startFaultyProxy(stack.base_url, {});
  const environment = { INTENT_GATE_URL: proxy.endpoint, INTENT_GATE_TOKEN: stack.admin_token };
  const through = await openCommandLine(folder, environment);
  const { service_id: id } = await createService('Unheard', 'https://unheard.example', 'Its answers are lost');
  const uid = 'unheard.example:act:v1';
  const intent = await writeTo('unheard.json', intentOf(uid));
  const commands: [said: string, ...words: string[]][] = [
    ['Updated Unheard.', 'services', 'update', id, '--description', 'Otherwise'],
    ['Paused Unheard: its intents are no longer executed.', 'services', 'pause', id],
    ['Resumed Unheard.', 'services', 'resume', id],
    [`Created ${uid}.`, 'intents', 'create', '--service', id, '--file', intent],
    ['Deleted Unheard and its intents.', 'services', 'delete', id, '--yes'],
  ];
  for (const [said, ...words] of commands) {
    // each asks whether the token is accepted, and reads the service
    proxy.next = ['none', 'none', 'dropAfter'];
    expect(await through.run(words)).toEqual({ code: 0, stdout: `${said}\n`, stderr: '' });
  }
  expect(proxy.counts).toMatchObject({ dropAfter: commands.length });
  await proxy.stop();
});
