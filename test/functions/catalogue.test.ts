import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { calculateJwkThumbprint } from 'jose';
import { openAdmission } from '../../functions/core/execution/admit.ts';
import { type Look, openLook } from '../../functions/core/execution/catalogue.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import type { JudgedAgent } from '../../functions/core/policy/conditions.ts';
import { type CurrentPolicy, policyFor } from '../../functions/core/policy/policy.ts';
import { PolicyError } from '../../functions/core/policy/reading.ts';
import { sightOf } from '../../functions/core/policy/sight.ts';
import { type PolicyTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { openLiveIntents } from '../../functions/core/registry/live-intents.ts';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { unavailable } from '../../functions/core/runtime/api-error.ts';
import { openSqliteEngine } from '../../functions/core/search/sqlite/engine.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { createAction as createOwnDescription } from '../../functions/documents/get-own-description.ts';
import { createAction as createDescription } from '../../functions/documents/get-service-description.ts';
import { createAction as createGetIntent } from '../../functions/get-intent.ts';
import { createAction as createGetService } from '../../functions/get-service.ts';
import { createAction as createListIntents } from '../../functions/list-service-intents.ts';
import { createAction as createListServices } from '../../functions/list-services.ts';
import { createAction as createSearch } from '../../functions/search-intents.ts';
import type { PatClaims } from '../../schemas/pat.ts';
import { openExecuteOver } from '../support/actions.ts';
import { startAdmins } from '../support/admins.ts';
import { execute, newAgent, obtainPat, startGate } from '../support/gate.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { openPolicy } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { refusals, unknownServiceIds } from '../support/registry.ts';
import { blockAgent } from '../support/stop-agent.ts';

const [gate, admins] = await Promise.all([startGate(), startAdmins()]);
const { table } = gate.database;
const engine = openSqliteEngine(openRegistry(table));
afterAll(async () => {
  await engine.close();
  await Promise.all([gate.stop(), admins.stop()]);
});

const intents = '{base_url}/api/intents';
const of = (namespace: string) => `${intents}?namespace=${namespace}`;
const rule = (target: string, more: object = {}) => ({ target, action: 'execute', ...more });
const policyOf = (permission: object[], prohibition: object[] = []): PolicyTemplate =>
  parsePolicyTemplate(JSON.stringify({ uid: '{base_url}/api/policy', type: 'Set', permission, prohibition }));

/** Intents in the order of their uids, by service; the last service has none. */
const registered = {
  Open: { namespace: undefined, uids: ['open.example:a:v1', 'open.example:b:v1'] },
  Mixed: { namespace: 'mixed.example', uids: ['mixed.example:a:v1', 'mixed.example:a:v2', 'mixed.example:c:v1'] },
  Secret: { namespace: 'secret.example', uids: ['secret.example:a:v1'] },
  Empty: { namespace: 'empty.example', uids: [] },
};
type ServiceName = keyof typeof registered;
const everyUid = Object.values(registered).flatMap(({ uids }): string[] => uids);
const methods = ['GET', 'POST', 'DELETE'] as const;
const idOf = {} as Record<ServiceName, string>;
for (const [service_name, { namespace, uids }] of Object.entries(registered)) {
  const { service_id } = await gate.services.create({ ...serviceNamed(service_name), ...(namespace && { namespace }) });
  idOf[service_name as ServiceName] = service_id;
  for (const [at, uid] of uids.entries())
    await gate.intents.create(
      service_id,
      intentOf(uid, {
        tags: [at === 0 ? 'first' : 'later'],
        input_parameters: [{ name: 'code', type: 'number' }],
        endpoint: { url: `https://api.world.example/${at}`, method: methods[at] ?? 'GET', content_type: 'application/json' },
      }),
    );
}

/** Everything that shows intents, to a caller with these headers. */
function readAs(look: Look, findPolicy: (baseUrl: string) => CurrentPolicy, headers: Record<string, string> = {}) {
  const { verifyAdmin } = admins;
  const live = openLiveIntents(table, true);
  const parts = {
    look,
    verifyAdmin,
    table,
    services: gate.services,
    intents: live,
    signingKeys: gate.signingKeys,
    protocol: 'proto',
    findPolicy,
  };
  const ask = (path: string, query: Record<string, string> = {}): Promise<Answer> => {
    const [, id = ''] = /(?:services|intents)\/([^/]+)/.exec(path) ?? [];
    const call = (action: Parameters<typeof invoke>[0], target: Parameters<typeof invoke>[1]) =>
      invoke(action, target, { path: { service_id: id, intent_uid: id }, query, headers });
    if (path === '/agents.json') return call(createOwnDescription({ engine, ...parts, isSignInOffered: false }), 'GET /agents.json');
    if (path === '/api/services') return call(createListServices(parts), 'GET /api/services');
    if (path === '/api/intents/search') return call(createSearch({ engine, ...parts }), 'GET /api/intents/search');
    if (path.startsWith('/api/intents/')) return call(createGetIntent(parts), 'GET /api/intents/{intent_uid}');
    if (path.endsWith('/intents')) return call(createListIntents(parts), 'GET /api/services/{service_id}/intents');
    if (path.endsWith('/description')) return call(createDescription(parts), 'GET /api/services/{service_id}/description');
    return call(createGetService(parts), 'GET /api/services/{service_id}');
  };
  const uidsIn = (answer: Answer): string[] => (answer.body.intents ?? []).map((one: { intent_uid: string }) => one.intent_uid);
  /** The uids in a list, of which it must not count more. */
  const countedIn = (answer: Answer): string[] => {
    const { total_results: total = answer.body.total_results } = answer.body.pagination ?? {};
    expect(total).toBe(uidsIn(answer).length);
    return uidsIn(answer);
  };
  return { ask, uidsIn, countedIn };
}

describe('callers see only what they may call', () => {
  const isMethod = (leftOperand: string, rightOperand: string) => ({
    constraint: [{ leftOperand: `{base_url}/vocabulary/${leftOperand}`, operator: 'eq', rightOperand }],
  });
  const template = policyOf([
    rule(of('open.example')),
    rule(of('mixed.example'), isMethod('method', 'POST')),
    rule(of('secret.example'), { assignee: 'insider' }),
    rule(of('secret.example'), { assignee: 'stale' }),
    rule(of('empty.example')),
  ]);
  const findPolicy = openPolicy(template);
  const look = openLook({ admit: openAdmission(gate.openAuthenticate(template), table), verifyAdmin: admins.verifyAdmin, findPolicy });
  const anybody = ['mixed.example:a:v2', ...registered.Open.uids];
  const insider = [...anybody, ...registered.Secret.uids];
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  const patOf = async (agentId: string, policy = template) => obtainPat(gate, await newAgent(agentId), policy);

  test.each<[string, () => Promise<Record<string, string>>, uids: readonly string[], services: ServiceName[]]>([
    ['nobody', async () => ({}), anybody, ['Mixed', 'Open']],
    ['an agent', async () => bearer(await patOf('outsider')), anybody, ['Mixed', 'Open']],
    ['an agent to whom a rule is assigned', async () => bearer(await patOf('insider')), insider, ['Mixed', 'Open', 'Secret']],
    ['a PAT of an earlier policy', async () => bearer(await patOf('stale', policyOf([rule(intents)]))), anybody, ['Mixed', 'Open']],
    ['no PAT of this gate', async () => bearer(`${await patOf('other')}x`), anybody, ['Mixed', 'Open']],
    ['two PATs', async () => ({ Authorization: 'Bearer a, Bearer b' }), anybody, ['Mixed', 'Open']],
    ['a user who is no admin', async () => bearer(admins.userToken), anybody, ['Mixed', 'Open']],
    [
      'an admin of a namespace',
      async () => bearer(await admins.tokenOf(['admins:mixed.example', 'admins:empty.example'])),
      [...registered.Mixed.uids, ...registered.Open.uids],
      ['Empty', 'Mixed', 'Open'],
    ],
    ['an admin of the gate', async () => bearer(admins.adminToken), everyUid, ['Empty', 'Mixed', 'Open', 'Secret']],
  ])('every read shows what the policy permits to %s', async (_, headersOf, uids, services) => {
    const { ask, countedIn, uidsIn } = readAs(look, findPolicy, await headersOf());
    const expected = uids.toSorted();
    const whole = { page_size: '100' };
    const search = await ask('/api/intents/search', whole);
    expect(search.headers).toMatchObject({ Vary: 'Authorization', 'Cache-Control': 'private, no-cache' });
    expect(countedIn(search)).toEqual(expected);
    expect(countedIn(await ask('/api/intents/search', { query: 'tell country from code', ...whole })).sort()).toEqual(expected);
    expect(uidsIn(await ask('/agents.json'))).toEqual(expected);
    const list = await ask('/api/services');
    expect(list.headers).toMatchObject({ Vary: 'Authorization', 'Cache-Control': 'private, no-cache' });
    const numbers = list.body.services.map((one: { service_name: string; intents: number }) => [one.service_name, one.intents]);
    const seenOf = (name: ServiceName) => registered[name].uids.filter((uid) => uids.includes(uid));
    expect(numbers).toEqual(services.map((name) => [name, seenOf(name).length]));
    for (const [name, id] of Object.entries(idOf) as [ServiceName, string][]) {
      const [record, ownIntents, full, description] = await Promise.all([
        ask(`/api/services/${id}`),
        ask(`/api/services/${id}/intents`),
        ask(`/api/services/${id}/intents`, { view: 'full' }),
        ask(`/api/services/${id}/description`),
      ]);
      for (const answer of [record, ownIntents, full, description]) {
        if (services.includes(name))
          expect(answer).toMatchObject({ status: 200, headers: { Vary: 'Authorization', 'Cache-Control': 'private, no-cache' } });
        else expect(refusalOf(answer)).toEqual(refusals.noSuchService);
      }
      if (!services.includes(name)) continue;
      expect([countedIn(ownIntents), countedIn(full), uidsIn(description)]).toEqual(Array(3).fill(seenOf(name)));
    }
    for (const uid of everyUid) {
      const answer = await ask(`/api/intents/${uid}`, { view: 'full' });
      if (uids.includes(uid))
        expect(answer).toMatchObject({ status: 200, headers: { Vary: 'Authorization', 'Cache-Control': 'private, no-cache' } });
      else expect(refusalOf(answer)).toEqual(refusals.noSuchIntent);
    }
  });

  test('a blocked agent sees what anybody sees', async () => {
    const agent = await newAgent('insider-2');
    const own = policyOf([rule(of('open.example')), rule(of('secret.example'), { assignee: 'insider-2' })]);
    const pat = await obtainPat(gate, agent, own);
    const parts = { admit: openAdmission(gate.openAuthenticate(own), table), verifyAdmin: admins.verifyAdmin, findPolicy: openPolicy(own) };
    const { ask } = readAs(openLook(parts), parts.findPolicy, bearer(pat));
    expect((await ask('/api/intents/secret.example:a:v1')).status).toBe(200);
    await blockAgent(table, agent.agentId);
    expect(refusalOf(await ask('/api/intents/secret.example:a:v1'))).toEqual(refusals.noSuchIntent);
    expect((await ask('/api/intents/open.example:a:v1')).status).toBe(200);
  });

  test.each(['agentKey', 'agentDomain'])(
    'a condition on %s hides intents from agents that do not meet it, also in a public catalogue',
    async (subject) => {
      const agent = await newAgent(`of-${subject}`);
      const thumbprint = await calculateJwkThumbprint(JSON.parse(agent.publicJwk));
      const isInsider = (operator: string) => ({
        constraint: [
          {
            leftOperand: `{base_url}/vocabulary/${subject}`,
            operator,
            rightOperand: subject === 'agentKey' ? thumbprint : 'a.example',
          },
        ],
      });
      const own = policyOf([
        rule(of('open.example')),
        rule(of('secret.example'), isInsider('eq')),
        rule(of('mixed.example'), isInsider('neq')),
      ]);
      const parts = {
        admit: openAdmission(gate.openAuthenticate(own), table),
        verifyAdmin: admins.verifyAdmin,
        findPolicy: openPolicy(own),
      };
      const pat = await obtainPat(gate, agent, own);
      const others = [...registered.Mixed.uids, ...registered.Open.uids].toSorted();
      const insiders = subject === 'agentKey' ? [...registered.Open.uids, ...registered.Secret.uids].toSorted() : others;
      for (const [headers, uids] of [
        [{}, others],
        [bearer(pat), insiders],
      ] as const) {
        const { ask, countedIn } = readAs(openLook(parts), parts.findPolicy, headers);
        expect(countedIn(await ask('/api/intents/search', { page_size: '100' }))).toEqual(uids);
        const everybody = createSearch({
          engine,
          findPolicy: parts.findPolicy,
          verifyPat: openPatVerifier({ findKey: gate.signingKeys.find }),
        });
        const permitted = await invoke(everybody, 'GET /api/intents/search', { query: { permitted: 'true', page_size: '100' }, headers });
        expect(countedIn(permitted)).toEqual(uids);
      }
    },
  );

  /** An answer, and the requests to the table for it, which could tell by their time that a record exists. */
  const traced = async <Got>(read: () => Promise<Got>) => {
    const before = gate.database.operations.length;
    return { answer: await read(), operations: gate.database.operations.slice(before) };
  };

  test('hidden records are answered as if they did not exist, header by header', async () => {
    const { ask } = readAs(look, findPolicy);
    const [unknownId = ''] = unknownServiceIds;
    for (const [hidden, unknown] of [
      [`/api/services/${idOf.Secret}`, `/api/services/${unknownId}`],
      [`/api/services/${idOf.Empty}`, `/api/services/${unknownId}`],
      [`/api/services/${idOf.Secret}/intents`, `/api/services/${unknownId}/intents`],
      [`/api/services/${idOf.Secret}/description`, `/api/services/${unknownId}/description`],
      ['/api/intents/secret.example:a:v1', '/api/intents/secret.example:b:v1'],
      ['/api/intents/mixed.example:c:v1', '/api/intents/mixed.example:d:v1'],
    ] as const)
      expect(await traced(() => ask(hidden))).toEqual(await traced(() => ask(unknown)));
    for (const query of [{ uid: 'secret.example:a:v1' }, { namespace: 'secret.example' }, { service_name: 'secret' }] as Record<
      string,
      string
    >[])
      expect((await ask('/api/intents/search', query)).body).toEqual((await ask('/api/intents/search', { uid: 'none.example:a:v1' })).body);
  });

  test('pages of services and intents link past hidden ones, without their names', async () => {
    const { ask } = readAs(look, findPolicy);
    const first = await ask('/api/services', { page_size: '1' });
    expect(first.body.services).toMatchObject([{ service_name: 'Mixed', intents: 1 }]);
    expect(first.headers.Link).toContain('page_size=1&page=2&after=mixed>');
    const second = await ask('/api/services', { page_size: '1', page: '2', after: 'mixed' });
    expect(second.body.services).toMatchObject([{ service_name: 'Open' }]);
    expect(String(second.headers.Link)).not.toContain('next');
    const path = `/api/services/${idOf.Open}/intents`;
    const [page, last] = [await ask(path, { page_size: '1' }), await ask(path, { page_size: '1', after: 'open.example:a:v1' })];
    expect([page.body, last.body.intents[0].intent_uid]).toMatchObject([{ pagination: { total_results: 2 } }, 'open.example:b:v1']);
  });

  test('a search for services takes the same reads whether or not the name of a hidden one matches', async () => {
    const steps = createListServices({ verifyAdmin: admins.verifyAdmin, table, look });
    const ask = async (name: string) => (await invoke(steps, 'GET /api/services', { query: { name } })).body;
    await ask('open');
    const none = await traced(() => ask('none'));
    for (const name of ['secret', 'sec', 'empty']) expect(await traced(() => ask(name))).toEqual(none);
    expect((await ask('op')).services).toMatchObject([{ service_name: 'Open' }]);
  });

  test('the numbers of services follow each change of the registry', async () => {
    const { ask } = readAs(look, findPolicy);
    const { service_id } = await gate.services.create(serviceNamed('Later'));
    const namesOf = async () => (await ask('/api/services')).body.services.map((one: { service_name: string }) => one.service_name);
    expect(await namesOf()).toEqual(['Mixed', 'Open']);
    await gate.intents.create(service_id, intentOf('open.example:later:v1'));
    expect(await namesOf()).toEqual(['Later', 'Mixed', 'Open']);
    await gate.services.remove(service_id, () => true);
    expect(await namesOf()).toEqual(['Mixed', 'Open']);
  });

  test('executing what one does not see is refused as if it did not exist', async () => {
    const steps = openExecuteOver(table, { authenticate: gate.openAuthenticate(template), relay: gate.relay, hidesIntents: true });
    const pat = await patOf('executing');
    const ask = async (uid: string) => refusalOf(await execute(steps, pat, uid, {}));
    expect(await ask('secret.example:a:v1')).toEqual(refusals.noSuchIntent);
    expect(await ask('mixed.example:c:v1')).toEqual(refusals.noSuchIntent);
    expect(await ask('mixed.example:c:v2')).toEqual(refusals.noSuchIntent);
    expect(await traced(() => ask('mixed.example:c:v1'))).toEqual(await traced(() => ask('mixed.example:c:v2')));
    expect((await traced(() => ask('mixed.example:c:v3'))).operations).toEqual((await traced(() => ask('mixed.example:d:v1'))).operations);
    for (const version of ['v1', 'v9'])
      expect(await ask(`mixed.example:a:${version}`)).toMatchObject({ code: 'VERSION_CONFLICT', details: { supported_versions: ['v2'] } });
    expect(await ask('open.example:a:v1')).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('for any policy and agent', () => {
  const on = (leftOperand: string, operator: string, rightOperand: unknown) => ({ leftOperand, operator, rightOperand });
  const constraints = fc.oneof(
    fc
      .tuple(fc.constantFrom('eq', 'neq'), fc.constantFrom(...methods))
      .map(([operator, method]) => on('{base_url}/vocabulary/method', operator, method)),
    fc
      .tuple(fc.constantFrom('eq', 'neq'), fc.constantFrom('first', 'later'))
      .map(([operator, tag]) => on('{base_url}/vocabulary/tag', operator, tag)),
    fc
      .tuple(fc.constantFrom('eq', 'neq'), fc.constantFrom('Open', 'mixed', idOf.Secret))
      .map(([operator, name]) => on('{base_url}/vocabulary/service', operator, name)),
    fc.constantFrom('2020-01-01', '2090-01-01').map((day) => on('dateTime', 'lt', day)),
    fc
      .tuple(fc.constantFrom('eq', 'neq'), fc.constantFrom('bot.example', 'other.example'))
      .map(([operator, domain]) => on('{base_url}/vocabulary/agentDomain', operator, domain)),
    fc
      .tuple(fc.constantFrom('eq', 'neq'), fc.constantFrom('k'.repeat(43), 'o'.repeat(43)))
      .map(([operator, thumbprint]) => on('{base_url}/vocabulary/agentKey', operator, thumbprint)),
  );
  const targets = fc.constantFrom(
    intents,
    ...['open', 'mixed', 'secret'].map((name) => of(`${name}.example`)),
    ...everyUid.map((uid) => `${intents}/${uid}`),
  );
  const rules = (most: number) =>
    fc.array(
      fc
        .tuple(targets, fc.option(fc.constantFrom('acme', 'bot.example'), { freq: 2 }), fc.array(constraints, { maxLength: 2 }))
        .map(([target, assignee, constraint]) =>
          rule(target, { ...(assignee && { assignee }), ...(constraint.length > 0 && { constraint }) }),
        ),
      { minLength: 1, maxLength: most },
    );
  const policies = fc.record({ permission: rules(4), prohibition: fc.oneof(fc.constant<object[]>([]), rules(2)) });
  const agents: fc.Arbitrary<JudgedAgent> = fc.record(
    {
      account: fc.constant('k'.repeat(43)),
      agentId: fc.constantFrom('acme', 'other'),
      agentDomain: fc.constantFrom('bot.example', 'www.bot.example'),
    },
    { requiredKeys: ['account', 'agentId'] },
  );

  test('what is listed is what can be executed', async () => {
    let compared = 0;
    for (const agent_id of ['acme', 'other']) await table.put({ ...keys.agent(agent_id), agent_id, generation: 'g' });
    await fc.assert(
      fc.asyncProperty(policies, agents, fc.constantFrom(...everyUid), async ({ permission, prohibition }, agent, uid) => {
        let current: (baseUrl: string) => CurrentPolicy;
        try {
          current = openPolicy(policyOf(permission, prohibition));
        } catch (error) {
          // such as a rule that another makes superfluous
          if (!(error instanceof PolicyError)) throw error;
          return fc.pre(false);
        }
        compared++;
        const whole = current('https://api.example/test');
        const policy = policyFor(whole, agent);
        const look: Look = async () => ({ policy, admin: undefined, sight: sightOf(policy) });
        const { ask, countedIn } = readAs(look, current);
        const listed = countedIn(await ask('/api/intents/search', { page_size: '100' }));
        const service = Object.entries(registered).find(([, { uids }]) => (uids as string[]).includes(uid))?.[0] as ServiceName;
        const isListed = listed.includes(uid);
        if (compared % 2 === 0) {
          const inService = await ask(`/api/services/${idOf[service]}/intents`);
          expect(inService.status === 200 && countedIn(inService).includes(uid)).toBe(isListed);
        } else expect((await ask(`/api/intents/${uid}`)).status === 200).toBe(isListed);

        const claims = {
          sub: agent.agentId,
          gen: 'g',
          scope: policy.compiled.scope,
          cnf: { jkt: 'k'.repeat(43) },
          agent_domain: agent.agentDomain,
        } as PatClaims;
        const steps = openExecuteOver(table, {
          authenticate: async (_request, _nowMs, readPointer) => {
            await readPointer?.(claims);
            return { claims, policy, proof: undefined };
          },
          relay: { connect: async () => Promise.reject(unavailable('The call would have been made.')) },
          hidesIntents: true,
        });
        const { status, details }: { status: number; details: Record<string, string & string[]> } = refusalOf(
          await execute(steps, 'pat', uid, {}),
        );
        const versions: string[] = details.supported_versions ?? [];
        if (!isListed) {
          expect(status).toBe(versions.length > 0 ? 409 : 404);
          expect(listed).toEqual(expect.arrayContaining(versions.map((version) => uid.replace(/v\d+$/, version))));
        }
        // neither a parameter nor the time is decided by what is listed
        else if (status === 403) expect(details.words).toMatch(/the date is before 20/);
        else expect(status).toBe(503);
      }),
      { numRuns: 1_000 },
    );
    expect(compared).toBeGreaterThanOrEqual(1_000);
  }, 90_000);
});
