import { afterAll, expect, test } from '@jest/globals';
import { openAgents } from '../../../functions/agents/agents.ts';
import { openApprovalCheck } from '../../../functions/agents/approval-check.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { createAction as createAuthorize } from '../../../functions/sign-in/authorize.ts';
import { openClients } from '../../../functions/sign-in/clients.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
import { openUserPool } from '../../../functions/sign-in/user-pool.ts';
import { baseUrl, startGate } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';
import { openPolicy } from '../../support/policy.ts';
import { makeVerifier } from '../../support/sign-in/sign-in.ts';
import { openToken } from '../../support/sign-in/token-endpoint.ts';

const gate = await startGate();
afterAll(() => gate.stop());

test('a person who signs in waits for approval if it is required', async () => {
  const { table } = gate.database;
  const { verifier: code_verifier, challenge: codeChallenge } = makeVerifier();
  const client_id = 'https://host.example/client.json';
  const redirect_uri = 'https://host.example/callback';
  const person = { subject: 'person', userName: 'user' };
  const { reference: policy } = openPolicy()(baseUrl);
  const steps = openToken(gate, { checks: [openApprovalCheck(table, true)] });
  const send = async () => {
    const grant = { person, clientId: client_id, redirectUri: redirect_uri, codeChallenge, resource: `${baseUrl}/mcp`, policy };
    const code = await openSignIns(table).keepGrant(grant, Date.now());
    const form = { grant_type: 'authorization_code', code, client_id, redirect_uri, code_verifier, resource: grant.resource };
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    return invoke(steps, 'POST /token', { headers, body: String(new URLSearchParams(form)) });
  };
  const refused = await send();
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
  expect(refused.body.error_description).toContain('approve each agent');
  await openAgents(table).approve(operator, { agentId: signedInAgentId(person.subject, client_id) });
  expect((await send()).status).toBe(200);
});

test.each([true, false])(
  'a person who signs in reads on the page with the policy whether operators must approve the program: %s',
  async (isRequired) => {
    const { table } = gate.database;
    const signIns = openSignIns(table);
    const redirect_uri = 'http://127.0.0.1:5123/callback';
    const steps = createAuthorize({
      clients: openClients([redirect_uri], async () => ({})),
      signIns,
      userPool: openUserPool({ userPool: 'eu-west-1_Abc123', domain: 'https://pool.example', clientId: 'gate' }),
      findPolicy: openPolicy(),
      issueChecks: [openApprovalCheck(table, isRequired)],
      lifetimes: { patLifeSeconds: 3_600, signInSeconds: 43_200 },
    });
    const code_challenge = makeVerifier().challenge;
    const query = { response_type: 'code', client_id: 'intent-gate-public', redirect_uri, code_challenge, code_challenge_method: 'S256' };
    const Cookie = `__Host-intent-gate-sign-in=${await signIns.startSession({ subject: 'reader', userName: 'user' }, Date.now(), 60)}`;
    const page = await invoke(steps, 'GET /oauth/authorize', { query, headers: { Cookie } });
    expect([page.status, page.body.includes('must approve each program before it acts for you')]).toEqual([200, isRequired]);
  },
);
