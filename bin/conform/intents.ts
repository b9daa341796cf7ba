import * as z from 'zod';
import { checkAnswer, checkEmptied, checkInvalid, checkRefusal } from './answers.ts';
import { type Check, inEach, segment, without } from './check.ts';
import { idOf } from './context.ts';
import { checkPagination } from './discovery.ts';
import { create, intentsOf, pick, register } from './records.ts';
import { holding, intentShape, listShape } from './shapes.ts';

const savedMembers = ['intent_uid', 'intent_name', 'description'];

export const intentChecks: readonly Check[] = [
  {
    id: 'intent-create',
    clause: '4.2 (11), 2.2',
    title: 'Creating an intent answers it with its intent_id',
    isAdmins: true,
    run: async (context) => {
      const body = context.intentBody();
      return checkAnswer(await create(context, body), 201, holding(pick(body, savedMembers)).extend({ intent_id: z.string() }));
    },
  },
  {
    id: 'intent-create-wrong',
    clause: '4.2 (11), 2.1, 2.2',
    title: 'Creating an intent that lacks a required member, or has one of the wrong form, is refused',
    isAdmins: true,
    run: (context) => {
      const body = context.intentBody();
      const required = ['intent_uid', 'intent_name', 'description', 'input_parameters', 'output_parameters', 'endpoint'];
      const wrong: [string, Record<string, unknown>][] = [
        ...required.map((name): [string, Record<string, unknown>] => [`without ${name}`, without(body, name)]),
        ['with a uid of another form', { ...body, intent_uid: 'Count words' }],
        ['with a parameter of an unknown type', { ...body, input_parameters: [{ name: 'text', type: 'text' }] }],
        ['with a parameter that has no name', { ...body, input_parameters: [{ type: 'string' }] }],
        ['with an endpoint that is no URI', { ...body, endpoint: 'somewhere' }],
        ['with tags that are no list', { ...body, tags: 'conformance' }],
      ];
      return checkInvalid(
        wrong,
        ([, given]) => create(context, given),
        ([what]) => what,
      );
    },
  },
  {
    id: 'intent-create-duplicate',
    clause: '4.2 (11), 9.4',
    title: 'Creating a second intent of the same uid is a conflict',
    isAdmins: true,
    run: async (context) => {
      const body = context.intentBody();
      await create(context, body);
      return checkRefusal(await create(context, body), 409, 'CONFLICT');
    },
  },
  {
    id: 'intent-details',
    clause: '4.2 (2), 2.2',
    title: 'An intent is read as it was created',
    isAdmins: true,
    run: async (context) => {
      const body = context.intentBody();
      await create(context, body);
      const details = await context.call('GET', `/api/intents/${segment(body.intent_uid)}`);
      const { input_parameters, output_parameters, ...plain } = body;
      const findings = [...checkAnswer(details, 200, intentShape), ...checkAnswer(details, 200, holding(plain))];
      if (findings.length > 0) return findings;
      const names = (list: { name: string }[]) => list.map(({ name }) => name).join();
      const shown = intentShape.parse(details.body);
      return names(shown.input_parameters) === names(input_parameters) && names(shown.output_parameters) === names(output_parameters)
        ? []
        : [`${details.request} shows other parameters than were created`];
    },
  },
  {
    id: 'intent-list',
    clause: '4.2 (10), 2.7',
    title: "A service's intents are listed in pages",
    isAdmins: true,
    run: async (context) => {
      const serviceId = idOf(await register(context), 'service_id');
      const bodies = [1, 2, 3].map(() => context.intentBody());
      for (const body of bodies) context.remember(await context.asAdmin('POST', intentsOf(serviceId), { body }), '/api/intents');
      const listed: string[] = [];
      const findings = await inEach(
        [
          ['', 1, 10],
          ['?page=1&page_size=2', 1, 2],
          ['?page=2&page_size=2', 2, 2],
        ] as const,
        async ([query, page, pageSize]) => {
          const list = await context.call('GET', `${intentsOf(serviceId)}${query}`);
          const problems = checkAnswer(list, 200, listShape);
          if (problems.length > 0) return problems;
          const { intents } = listShape.parse(list.body);
          if (query === '') listed.push(...intents.map(({ intent_uid }) => intent_uid));
          return checkPagination(list, page, pageSize, intents.length);
        },
      );
      const missing = bodies.filter(({ intent_uid }) => findings.length === 0 && !listed.includes(String(intent_uid)));
      return [...findings, ...missing.map(({ intent_uid }) => `GET ${intentsOf(serviceId)} does not list ${intent_uid}`)];
    },
  },
  {
    id: 'intent-update',
    clause: '4.2 (12), 2.2',
    title: 'Updating an intent answers what it is now, and so does reading it',
    isAdmins: true,
    run: async (context) => {
      const before = context.intentBody();
      const path = `/api/intents/${segment(idOf(await create(context, before), 'intent_id'))}`;
      const body = { ...before, intent_name: 'Count the words once more', tags: ['changed'] };
      return [
        ...checkAnswer(await context.asAdmin('PUT', path, { body }), 200, holding(pick(body, savedMembers))),
        ...checkAnswer(
          await context.call('GET', `/api/intents/${segment(body.intent_uid)}`),
          200,
          holding(pick(body, ['intent_name', 'tags'])),
        ),
        ...checkRefusal(await context.asAdmin('PUT', path, { body: without(body, 'intent_name') }), 400, 'INVALID_PARAMETER'),
      ];
    },
  },
  {
    id: 'intent-delete',
    clause: '4.2 (13)',
    title: 'A deleted intent is gone',
    isAdmins: true,
    run: async (context) => {
      const body = context.intentBody();
      const path = `/api/intents/${segment(idOf(await create(context, body), 'intent_id'))}`;
      return [
        ...checkEmptied(await context.asAdmin('DELETE', path)),
        ...checkRefusal(await context.call('GET', `/api/intents/${segment(body.intent_uid)}`), 404, 'NOT_FOUND'),
        ...checkRefusal(await context.asAdmin('DELETE', path), 404, 'NOT_FOUND'),
      ];
    },
  },
  {
    id: 'intent-unknown',
    clause: '4.2 (12, 13), 7.2',
    title: 'Whatever is done to an intent that does not exist is 404',
    isAdmins: true,
    run: async (context) => {
      const body = context.intentBody();
      const path = `/api/intents/${segment(body.intent_uid)}`;
      return [
        ...checkRefusal(await context.asAdmin('PUT', path, { body }), 404, 'NOT_FOUND'),
        ...checkRefusal(await context.asAdmin('DELETE', path), 404, 'NOT_FOUND'),
      ];
    },
  },
];
