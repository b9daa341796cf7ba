import { createAction as createBegin } from '../../../functions/connections/begin-connection.ts';
import { createAction as createFinish } from '../../../functions/connections/finish-connection.ts';
import { createAction as createShow } from '../../../functions/connections/show-connection.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import { openUserPool } from '../../../functions/sign-in/user-pool.ts';
import type { Gate } from '../gate.ts';
import { type Answer, invoke } from '../invoke.ts';
import type { ConnectionParts } from './parts.ts';

/** The pages at which people connect, as a browser of a signed-in person sees them. */
export function openPages(gate: Gate, parts: ConnectionParts) {
  const { services, credentials } = gate;
  const signIns = openSignIns(gate.database.table);
  const userPool = openUserPool({ userPool: 'eu-west-1_Abc123', domain: 'https://pool.example', clientId: 'gate' });
  const { connections, issuers } = parts;
  const show = createShow({ services, signIns, userPool, connections });
  const begin = createBegin({ services, signIns, connections, issuers });
  const finish = createFinish({ services, credentials, signIns, connections, grants: parts.openGrants(), issuers });

  /** Signs a person in. @returns the browser's header fields */
  async function signIn(subject: string): Promise<Record<string, string>> {
    const secret = await signIns.startSession({ subject, userName: `user ${subject}` }, Date.now(), 3_600);
    return { Cookie: `__Host-intent-gate-sign-in=${secret}` };
  }

  const showPage = (service_id: string, headers = {}): Promise<Answer> =>
    invoke(show, 'GET /connect/{service_id}', { path: { service_id }, headers });

  /** Submits the form of the page. */
  async function submit(service_id: string, headers: Record<string, string>, page?: Answer): Promise<Answer> {
    const { body } = page ?? (await showPage(service_id, headers));
    const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(body) ?? [];
    const form = { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' };
    return invoke(begin, 'POST /connect/{service_id}', { path: { service_id }, headers: form, body: `form_token=${token}` });
  }

  /** Goes to the issuer, and returns the parameters with which it sends the person back. */
  async function agree(submitted: Answer): Promise<Record<string, string>> {
    const [, address = ''] = /^0;url=(.*)$/.exec(String(submitted.headers.Refresh)) ?? [];
    const answer = await fetch(address, { redirect: 'manual' });
    return Object.fromEntries(new URL(String(answer.headers.get('location'))).searchParams);
  }

  const callBack = (service_id: string, headers: Record<string, string>, query: Record<string, string>): Promise<Answer> =>
    invoke(finish, 'GET /connect/{service_id}/callback', { path: { service_id }, headers, query });

  return {
    signIn,
    showPage,
    submit,
    agree,
    callBack,
    /** Connects a person. @returns the last page */
    async connect(serviceId: string, headers: Record<string, string>): Promise<Answer> {
      return callBack(serviceId, headers, await agree(await submit(serviceId, headers)));
    },
  };
}
