import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { makeFolder } from '../../support/folder.ts';
import { intentOf, serviceNamed } from '../../support/records.ts';
import { openCommandLine } from './command-line.ts';

const folder = makeFolder();
const { run } = await openCommandLine(folder);

const sample = (name: string) => resolve('samples/policies', `${name}.json`);

const unchecked = 'The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.\n';

test('a misspelt prohibition is an error, and so is an intent that does not exist', async () => {
  const registry = join(folder, 'names.json');
  const intents = [intentOf('api.github.com:repos-delete:v23'), intentOf('api.github.com:repos-get:v23')];
  writeFileSync(registry, JSON.stringify({ registry: 1, services: [{ ...serviceNamed('GitHub'), intents }] }));
  const policy = join(folder, 'misspelt.json');
  const target = '{base_url}/api/intents';
  const write = (uid: string) => {
    const prohibition = [{ target: `${target}/${uid}`, action: 'execute' }];
    writeFileSync(policy, JSON.stringify({ permission: [{ target, action: 'execute' }], prohibition }));
  };
  write('api.github.com:repo-delet:v23');
  const said = expect.stringMatching(
    /refers to names that do not exist[\s\S]*\/prohibition\/0\/target names the intent "api.github.com:repo-delet:v23", which does not exist; the nearest is "api.github.com:repos-delete:v23"/,
  );
  expect(await run(['policy', 'show', policy, '--registry', registry])).toMatchObject({ code: 2, stderr: said });
  expect(await run(['policy', 'diff', sample('everything'), policy, '--registry', registry])).toMatchObject({ code: 2, stderr: said });
  const explain = ['policy', 'explain', '--file', policy, '--registry', registry];
  expect(await run([...explain, 'api.github.com:repos-get:v23'])).toMatchObject({ code: 2, stderr: said });
  write('api.github.com:repos-delete:v23');
  expect(await run(['policy', 'show', policy, '--registry', registry])).toMatchObject({
    code: 0,
    stdout: expect.not.stringContaining('{base_url}'),
    stderr: '',
  });
  expect(await run([...explain, 'api.github.com:repos-delete:v23'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Refused by/),
  });
  expect(await run([...explain, 'nope:nope:v1'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('names the intent "nope:nope:v1", which does not exist; the nearest is'),
  });
});

test.each([
  [{ rightOperand: { '@value': '2031-01-01', '@type': 'xsd:date' } }, '2031-01-01T00:00:00Z'],
  [{ rightOperand: { '@value': '2031-01-01+02:00', '@type': 'http://www.w3.org/2001/XMLSchema#date' } }, '2031-01-01T00:00:00+02:00'],
  [{ rightOperand: '2031-01-01Z', dataType: 'xsd:date' }, '2031-01-01T00:00:00Z'],
  [{ rightOperand: '2031-01-01' }, '2031-01-01T00:00:00Z'],
])('the day %j is shown and explained as its start', async (stated, start) => {
  const file = join(folder, 'day.json');
  const constraint = [{ leftOperand: 'dateTime', operator: 'lt', ...stated }];
  writeFileSync(file, JSON.stringify({ permission: [{ target: '{base_url}/api/intents', action: 'execute', constraint }] }));
  const words = `You may execute every intent if the date is before ${start}.`;
  expect(await run(['policy', 'show', file])).toMatchObject({ code: 0, stdout: expect.stringContaining(words) });
  const explained = await run(['policy', 'explain', 'a.example:get:v1', '--file', file]);
  expect(explained).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`  the date is before ${start} (/permission/0/constraint/0)`),
  });
});

test('a policy as a gate serves it is read like the file that it was published from', async () => {
  const file = join(folder, 'served.json');
  const template = readFileSync(sample('no-large-refunds'), 'utf8');
  writeFileSync(file, template.replaceAll('{base_url}', 'https://gate.example/prod'));
  expect(await run(['policy', 'diff', sample('no-large-refunds'), file])).toMatchObject({ code: 0 });
});

test('a call is explained by the rules that decide, with reasons', async () => {
  const words = ['policy', 'explain', 'payments.example:refund:v1', '--file', sample('no-large-refunds'), '--param'];
  expect(await run([...words, 'amount=500'])).toEqual({
    code: 0,
    stderr: unchecked,
    stdout: [
      'Refused by /prohibition/0/constraint/0.',
      'applies  /permission/0  You may execute every intent, at most 60 times a minute.',
      '  it covers the intent unconditionally',
      'applies  /prohibition/0  You must not execute the intent payments.example:refund:v1 if parameter amount is at least 500, whatever else is permitted.',
      '  parameter amount is at least 500 (/prohibition/0/constraint/0)',
      '',
    ].join('\n'),
  });
  const explained = JSON.parse((await run([...words, 'amount=20', '--json'])).stdout);
  expect(explained).toMatchObject({
    is_permitted: true,
    decided_by: '/permission/0',
    limits: [{ name: 'execute', rate: 60, period: 60, cost: 1 }],
  });
  expect(await run([...words, 'amount=1', 'amount=2'])).toMatchObject({ code: 3, stderr: '--param gives amount twice.\n' });
  expect(await run([...words, 'amount'])).toMatchObject({ code: 3, stderr: '--param must have the form name=value.\n' });
  expect(await run(['policy', 'explain', 'refund', '--file', sample('no-large-refunds')])).toMatchObject({
    code: 3,
    stderr: 'The intent_uid must have the form <namespace>:<intent-slug>:v<version>, for example example.com:convert-currency:v1.\n',
  });
  expect(await run([...words, 'amount=1', '--at', 'noon'])).toMatchObject({ code: 3, stderr: expect.stringMatching(/^--at takes/) });
});

test('the parameters of a call are explained as the gate judges them', async () => {
  const registry = join(folder, 'judged.json');
  const endpoint = { method: 'GET', url: 'https://a.example/{code}{?language}', content_type: 'application/json' } as const;
  const input_parameters = [
    { name: 'code', type: 'string', required: true },
    { name: 'language', type: 'string', required: false, default: 'en' },
  ] as const;
  const intents = [intentOf('a.example:get:v1', { endpoint, input_parameters: [...input_parameters] })];
  writeFileSync(registry, JSON.stringify({ registry: 1, services: [{ ...serviceNamed('A'), intents }] }));
  const policy = join(folder, 'judged-policy.json');
  const [target, parameters] = ['{base_url}/api/intents', '{base_url}/api/intents/a.example:get:v1/parameters'];
  const is = (name: string, rightOperand: string) => ({ leftOperand: `${parameters}/${name}`, operator: 'eq', rightOperand });
  const permission = [{ target, action: 'execute' }];
  const prohibition = [is('language', 'en'), is('code', '12')].map((one) => ({ target, action: 'execute', constraint: [one] }));
  writeFileSync(policy, JSON.stringify({ permission, prohibition }));
  const explain = (...params: string[]) =>
    run(['policy', 'explain', 'a.example:get:v1', '--file', policy, '--registry', registry, ...params.flatMap((one) => ['--param', one])]);
  const because = (issue: string) => `The gate refuses this call before it judges it, because of its parameters:\n  ${issue}\n`;
  for (const [params, decision, stderr] of [
    [['code=JP'], 'Refused by /prohibition/0/constraint/0.', ''],
    [['code=JP', 'language=de'], 'Permitted by /permission/0.', ''],
    [['code=12', 'language=de'], 'Refused by /prohibition/1/constraint/0.', ''],
    [['language=de'], 'Permitted by /permission/0.', because('/parameters/code is required and must be a string')],
    [
      ['code=JP', 'bogus=1'],
      'Refused by /prohibition/0/constraint/0.',
      because('/parameters/bogus is not a parameter of this intent; remove it'),
    ],
  ] as const)
    expect([params, await explain(...params)]).toEqual([
      params,
      { code: 0, stdout: expect.stringMatching(new RegExp(`^${decision}`)), stderr },
    ]);
});

test('the rules of an agent are listed and explained by any of its names', async () => {
  const policy = join(folder, 'assigned.json');
  const target = '{base_url}/api/intents';
  const thumbprint = 'k'.repeat(43);
  const permission = ['https://bot.example', 'Acme', thumbprint].map((assignee, at) => ({
    target: `${target}?namespace=a${at}.example`,
    action: 'execute',
    assignee,
  }));
  writeFileSync(policy, JSON.stringify({ permission: [{ target: `${target}?namespace=all.example`, action: 'execute' }, ...permission] }));
  const rulesOf = async (...agent: string[]) => {
    const { stdout } = await run(['policy', 'explain', '--file', policy, ...agent.flatMap((one) => ['--agent', one])]);
    return [...stdout.matchAll(/(?:a\d|all)\.example/g)].map(([namespace]) => namespace);
  };
  const permits = async (uid: string, ...agent: string[]) => {
    const words = ['policy', 'explain', uid, '--file', policy, '--json', ...agent.flatMap((one) => ['--agent', one])];
    return JSON.parse((await run(words)).stdout).is_permitted;
  };
  for (const [agent, namespaces] of [
    [[thumbprint], ['a2.example']],
    [
      ['acme', 'https://bot.example'],
      ['a0.example', 'a1.example'],
    ],
    [['another'], []],
  ] as const) {
    expect([agent, new Set(await rulesOf(...agent))]).toEqual([agent, new Set(['all.example', ...namespaces])]);
    for (const at of [0, 1, 2])
      expect(await permits(`a${at}.example:b:v1`, ...agent)).toBe(namespaces.some((one) => one === `a${at}.example`));
    expect(await permits('all.example:b:v1', ...agent)).toBe(true);
  }
});

test('a change is described by the affected intents of a registry', async () => {
  const samples = join(folder, 'registry.json');
  const intents = [intentOf('world.example:get-country:v1'), intentOf('payments.example:transfer:v1')];
  writeFileSync(samples, JSON.stringify({ registry: 1, services: [{ ...serviceNamed('World'), intents }] }));
  const words = ['policy', 'diff', sample('everything'), sample('nothing-but-reading'), '--registry', samples];
  const { code, stdout } = await run(words);
  expect(code).toBe(2);
  const { stderr } = await run([...words, '--json']);
  expect(JSON.parse(stderr).error).toMatchObject({ code: 'differences', message: expect.stringContaining(' differs from ') });
  expect(stdout).toContain('lost    payments.example:transfer:v1\n');
  expect(stdout).toContain(
    'new limits  world.example:get-country:v1\n  no longer: You may execute every intent, at most 60 times a minute.\n',
  );
  expect(await run(['policy', 'diff', sample('everything'), sample('everything'), '--registry', samples])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Nothing changes for the \d+ intents of the registry\.\n$/),
  });
});

test('rules without effect are reported, and unenforceable ones are refused with their places', async () => {
  expect(await run(['policy', 'show', sample('all-but-one')])).toMatchObject({
    code: 0,
    stderr: `Warning: /permission/1 allows nothing, because /prohibition/0 prohibits all of it: You may execute the intent payments.example:transfer:v1, at most 5 times a day.\n${unchecked}`,
  });
  expect((await run(['policy', 'show', sample('trial-period')])).stderr).toMatch(
    /^Warning: \/permission\/0 allows nothing, because .* any more: /,
  );
  const broken = join(folder, 'broken.json');
  const permission = [
    { target: '{base_url}/api/intents', action: 'execute', constraint: [{ leftOperand: 'v:spatial', operator: 'use', rightOperand: 1 }] },
  ];
  writeFileSync(broken, JSON.stringify({ '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: 'urn:x', type: 'Set', permission }));
  const refused = await run(['policy', 'explain', 'a.example:x:v1', '--file', broken]);
  expect(refused).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('/permission/0/constraint/0/leftOperand must be one of'),
  });
});
