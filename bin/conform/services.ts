import * as z from 'zod';
import { checkAnswer, checkEmptied, checkInvalid, checkRefusal } from './answers.ts';
import { type Check, inEach, segment, without } from './check.ts';
import { idOf } from './context.ts';
import { pick, register } from './records.ts';
import { holding } from './shapes.ts';

const savedMembers = ['service_name', 'service_url', 'description'];

export const serviceChecks: readonly Check[] = [
  {
    id: 'service-create',
    clause: '4.2 (6), 2.5',
    title: 'Registering a service answers it with its service_id',
    isAdmins: true,
    run: async (context) => {
      const body = context.serviceBody();
      return checkAnswer(await register(context, body), 201, holding(pick(body, savedMembers)).extend({ service_id: z.string() }));
    },
  },
  {
    id: 'service-create-missing',
    clause: '4.2 (6), 2.5',
    title: 'Registering a service without a required member is refused',
    isAdmins: true,
    run: (context) =>
      checkInvalid(
        savedMembers,
        (name) => register(context, without(context.serviceBody(), name)),
        (name) => `without ${name}`,
      ),
  },
  {
    id: 'service-create-duplicate',
    clause: '4.2 (6), 2.5',
    title: 'Registering a second service of the same name is a conflict',
    isAdmins: true,
    run: async (context) => {
      const body = context.serviceBody();
      await register(context, body);
      return checkRefusal(await register(context, body), 409, 'CONFLICT');
    },
  },
  {
    id: 'service-read',
    clause: '4.2 (9), 2.5',
    title: 'A service is read as it was registered, its optional members too',
    isAdmins: true,
    run: async (context) => {
      const body = {
        ...context.serviceBody(),
        policy_url: 'https://service.example/policy',
        service_logo_url: 'https://service.example/logo.png',
        service_terms_of_service_url: 'https://service.example/terms',
        service_privacy_policy_url: 'https://service.example/privacy',
      };
      const service_id = idOf(await register(context, body), 'service_id');
      return checkAnswer(await context.call('GET', `/api/services/${segment(service_id)}`), 200, holding({ service_id, ...body }));
    },
  },
  {
    id: 'service-update',
    clause: '4.2 (7), 2.5',
    title: 'Updating a service answers what it is now, and so does reading it',
    isAdmins: true,
    run: async (context) => {
      const service_id = idOf(await register(context), 'service_id');
      const path = `/api/services/${segment(service_id)}`;
      const body = { ...context.serviceBody(), description: 'Changed by a conformance check.' };
      const shape = holding({ service_id, ...pick(body, savedMembers) });
      return [
        ...checkAnswer(await context.asAdmin('PUT', path, { body }), 200, shape),
        ...checkAnswer(await context.call('GET', path), 200, shape),
        ...(await checkInvalid(
          savedMembers,
          (name) => context.asAdmin('PUT', path, { body: without(body, name) }),
          (name) => `without ${name}`,
        )),
      ];
    },
  },
  {
    id: 'service-delete',
    clause: '4.2 (8)',
    title: 'A deleted service is gone',
    isAdmins: true,
    run: async (context) => {
      const path = `/api/services/${segment(idOf(await register(context), 'service_id'))}`;
      return [
        ...checkEmptied(await context.asAdmin('DELETE', path)),
        ...checkRefusal(await context.call('GET', path), 404, 'NOT_FOUND'),
        ...checkRefusal(await context.asAdmin('DELETE', path), 404, 'NOT_FOUND'),
      ];
    },
  },
  {
    id: 'service-unknown',
    clause: '4.2 (7 to 11), 7.2',
    title: 'Whatever is done to a service that does not exist is 404',
    isAdmins: true,
    run: async (context) => {
      const path = `/api/services/${context.freshId()}`;
      const calls = [
        { method: 'PUT', path, body: context.serviceBody() },
        { method: 'DELETE', path },
        { method: 'POST', path: `${path}/intents`, body: context.intentBody() },
      ];
      return inEach(calls, async ({ method, path: called, body }) =>
        checkRefusal(await context.asAdmin(method, called, { body }), 404, 'NOT_FOUND'),
      );
    },
  },
];
