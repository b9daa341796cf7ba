import * as z from 'zod';
import { intentPath, servicePath } from '../../registry/read.ts';
import { adminOnly, type Check, check, type Expect } from './check.ts';
import { expectPage } from './discovery.ts';
import { freshId, type Gate, idOf, intentsPath, makeServiceBody, without } from './gate.ts';
import { holding, intentShape, listShape } from './shapes.ts';

/** Checks that none of the six writes is allowed with this token. */
async function expectNoWrites({ call, intentBody }: Gate, expect: Expect, bearer?: string, mayForbid = false) {
  const service = servicePath(freshId());
  const intent = intentBody();
  const writes: [method: string, path: string, body?: unknown][] = [
    ['POST', '/api/services', makeServiceBody()],
    ['PUT', service, makeServiceBody()],
    ['DELETE', service],
    ['POST', `${service}/intents`, intentBody()],
    ['PUT', intentPath(intent.intent_uid), intent],
    ['DELETE', intentPath(intent.intent_uid)],
  ];
  for (const [method, path, body] of writes) {
    const answer = await call(method, path, { bearer, body });
    if (mayForbid && answer.status === 403) expect.refusal(answer, 403, 'FORBIDDEN');
    else expect.refusal(answer, 401, 'UNAUTHORIZED');
  }
}

export const credentialChecks: readonly Check[] = [
  check('admin-without-token', '5.2', 'Writes without a token are refused', expectNoWrites),
  check('admin-garbage-token', '5.2', 'Writes with a token that is not an admin token are refused', (gate, expect) =>
    expectNoWrites(gate, expect, 'garbage'),
  ),
  check('admin-pat', '5.2', 'Writes with a PAT are refused', async (gate, expect) => expectNoWrites(gate, expect, await gate.pat(), true)),
  check(
    'service-read-unknown',
    '4.2 (9, 10), 7.2',
    'Reading an unknown service, or listing its intents, is refused with 404',
    async (gate, expect) => {
      for (const toPath of [servicePath, intentsPath]) expect.notFound(await gate.call('GET', toPath(freshId())));
    },
  ),
];

const serviceMembers = ['service_name', 'service_url', 'description'] as const;

export const serviceChecks = adminOnly([
  check('service-create', '4.2 (6), 2.5', 'Registering a service returns it with its service_id', async (gate, expect) => {
    const body = makeServiceBody();
    expect.success(await gate.register(body), 201, holding(body).extend({ service_id: z.string() }));
  }),
  check('service-create-missing', '4.2 (6), 2.5', 'Registering a service without a required member is refused', async (gate, expect) => {
    for (const name of serviceMembers) expect.invalid(await gate.register(without(makeServiceBody(), name)), `without ${name}`);
  }),
  check(
    'service-create-duplicate',
    '4.2 (6), 2.5',
    'Registering a second service with the same name is a conflict',
    async (gate, expect) => {
      const body = makeServiceBody();
      await gate.register(body);
      expect.refusal(await gate.register(body), 409, 'CONFLICT');
    },
  ),
  check('service-read', '4.2 (9), 2.5', 'A service is returned as registered, including optional members', async (gate, expect) => {
    const body = {
      ...makeServiceBody(),
      policy_url: 'https://service.example/policy',
      service_logo_url: 'https://service.example/logo.png',
      service_terms_of_service_url: 'https://service.example/terms',
      service_privacy_policy_url: 'https://service.example/privacy',
    };
    const service_id = idOf(await gate.register(body), 'service_id');
    expect.success(await gate.call('GET', servicePath(service_id)), 200, holding({ service_id, ...body }));
  }),
  check('service-update', '4.2 (7), 2.5', 'Updating a service returns the new record, as does reading it', async (gate, expect) => {
    const service_id = idOf(await gate.register(), 'service_id');
    const path = servicePath(service_id);
    const body = { ...makeServiceBody(), description: 'Changed by a conformance check.' };
    const shape = holding({ service_id, ...body });
    expect.success(await gate.asAdmin('PUT', path, { body }), 200, shape);
    expect.success(await gate.call('GET', path), 200, shape);
    for (const name of serviceMembers) expect.invalid(await gate.asAdmin('PUT', path, { body: without(body, name) }), `without ${name}`);
  }),
  check('service-delete', '4.2 (8)', 'A deleted service no longer exists', async (gate, expect) => {
    const path = servicePath(idOf(await gate.register(), 'service_id'));
    expect.emptied(await gate.asAdmin('DELETE', path));
    expect.notFound(await gate.call('GET', path));
    expect.notFound(await gate.asAdmin('DELETE', path));
  }),
  check('service-unknown', '4.2 (7 to 11), 7.2', 'Changes to an unknown service are refused with 404', async (gate, expect) => {
    const path = servicePath(freshId());
    expect.notFound(await gate.asAdmin('PUT', path, { body: makeServiceBody() }));
    expect.notFound(await gate.asAdmin('DELETE', path));
    expect.notFound(await gate.asAdmin('POST', `${path}/intents`, { body: gate.intentBody() }));
  }),
]);

export const intentChecks = adminOnly([
  check('intent-create', '4.2 (11), 2.2', 'Creating an intent returns it with its intent_id', async (gate, expect) => {
    const body = gate.intentBody();
    const { intent_uid, intent_name, description } = body;
    expect.success(await gate.create(body), 201, holding({ intent_uid, intent_name, description }).extend({ intent_id: z.string() }));
  }),
  check(
    'intent-create-wrong',
    '4.2 (11), 2.1, 2.2',
    'Creating an intent with a missing or malformed member is refused',
    async (gate, expect) => {
      const body = gate.intentBody();
      for (const name of ['intent_uid', 'intent_name', 'description', 'input_parameters', 'output_parameters', 'endpoint'])
        expect.invalid(await gate.create(without(body, name)), `without ${name}`);
      const wrong: Record<string, Record<string, unknown>> = {
        'with a malformed uid': { intent_uid: 'Count words' },
        'with a parameter of an unknown type': { input_parameters: [{ name: 'text', type: 'text' }] },
        'with a parameter without a name': { input_parameters: [{ type: 'string' }] },
        'with an endpoint that is not a URI': { endpoint: 'somewhere' },
        'with tags that are not a list': { tags: 'conformance' },
      };
      for (const [what, members] of Object.entries(wrong)) expect.invalid(await gate.create({ ...body, ...members }), what);
    },
  ),
  check('intent-create-duplicate', '4.2 (11), 9.4', 'Creating a second intent with the same uid is a conflict', async (gate, expect) => {
    const body = gate.intentBody();
    await gate.create(body);
    expect.refusal(await gate.create(body), 409, 'CONFLICT');
  }),
  check('intent-details', '4.2 (2), 2.2', 'An intent is returned as created', async (gate, expect) => {
    const body = gate.intentBody();
    await gate.create(body);
    const details = await gate.call('GET', intentPath(body.intent_uid));
    const { input_parameters, output_parameters, ...plain } = body;
    const shown = expect.success(details, 200, intentShape);
    const isHeld = expect.success(details, 200, holding(plain)) !== undefined;
    if (shown === undefined || !isHeld) return;
    const names = (list: { name: string }[]) => list.map(({ name }) => name).join();
    const isSame = names(shown.input_parameters) === names(input_parameters) && names(shown.output_parameters) === names(output_parameters);
    expect.that(isSame, `${details.request} returns other parameters than were created`);
  }),
  check('intent-list', '4.2 (10), 2.7', "A service's intents are paginated", async (gate, expect) => {
    const serviceId = idOf(await gate.register(), 'service_id');
    const path = intentsPath(serviceId);
    const bodies = [1, 2, 3].map(gate.intentBody);
    for (const body of bodies) await gate.create(body, serviceId);
    const listed = await expectPage(gate, expect, path, listShape);
    await expectPage(gate, expect, path, listShape, { page: 1, page_size: 2 });
    await expectPage(gate, expect, path, listShape, { page: 2, page_size: 2 });
    for (const { intent_uid } of bodies) expect.that(listed?.includes(intent_uid) ?? true, `GET ${path} does not list ${intent_uid}`);
  }),
  check('intent-update', '4.2 (12), 2.2', 'Updating an intent returns the new record, as does reading it', async (gate, expect) => {
    const before = gate.intentBody();
    const path = intentPath(idOf(await gate.create(before), 'intent_id'));
    const changed = { intent_name: 'Count the words once more', tags: ['changed'] };
    const body = { ...before, ...changed };
    const { intent_uid, intent_name, description } = body;
    expect.success(await gate.asAdmin('PUT', path, { body }), 200, holding({ intent_uid, intent_name, description }));
    expect.success(await gate.call('GET', intentPath(intent_uid)), 200, holding(changed));
    expect.invalid(await gate.asAdmin('PUT', path, { body: without(body, 'intent_name') }));
  }),
  check('intent-delete', '4.2 (13)', 'A deleted intent no longer exists', async (gate, expect) => {
    const body = gate.intentBody();
    const path = intentPath(idOf(await gate.create(body), 'intent_id'));
    expect.emptied(await gate.asAdmin('DELETE', path));
    expect.notFound(await gate.call('GET', intentPath(body.intent_uid)));
    expect.notFound(await gate.asAdmin('DELETE', path));
  }),
  check('intent-unknown', '4.2 (12, 13), 7.2', 'Changes to an unknown intent are refused with 404', async (gate, expect) => {
    const body = gate.intentBody();
    expect.notFound(await gate.asAdmin('PUT', intentPath(body.intent_uid), { body }));
    expect.notFound(await gate.asAdmin('DELETE', intentPath(body.intent_uid)));
  }),
]);
