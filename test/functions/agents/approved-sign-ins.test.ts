import { afterAll, expect, test } from '@jest/globals';
import { openAgents } from '../../../functions/agents/agents.ts';
import { openApprovalCheck } from '../../../functions/agents/approval-check.ts';
import { operator } from '../../../functions/core/admin/admin.ts';
import { signedInAgentId } from '../../../functions/core/pat/holder.ts';
import { openSignIns } from '../../../functions/sign-in/sign-ins.ts';
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
