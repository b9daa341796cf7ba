import { parseClaims } from '../../bin/probes.ts';
import { issuesOf } from '../../functions/core/json/json.ts';
import { type Check, check } from './check.ts';
import { without } from './gate.ts';
import { claimsShape, patShape, policyShape } from './shapes.ts';

export const policyAndPatChecks: readonly Check[] = [
  check('policy-answer', '4.2 (4), 2.3', 'The policy is well-formed', async (gate, expect) => {
    expect.success(await gate.call('GET', '/api/policy'), 200, policyShape);
  }),
  check('pat-issue', '4.2 (5), 5.3', 'Signing the policy yields a PAT', async (gate, expect) => {
    expect.success(await gate.requestPat(await gate.patRequest()), 200, patShape(gate.protocol));
  }),
  check('pat-claims', '2.4', 'The PAT has the required claims, and is valid now', async (gate, expect) => {
    const { data, error } = claimsShape.safeParse(parseClaims(await gate.pat()), { reportInput: true });
    for (const { path, problem } of error ? issuesOf(error) : []) expect.that(false, `the PAT: ${path || 'its payload'} ${problem}`);
    if (data === undefined) return;
    const now = Date.now() / 1000;
    expect.that(data.nbf <= now + 60, 'the PAT: nbf is in the future');
    expect.that(data.exp > now, 'the PAT: exp is in the past');
  }),
  check('pat-unique', '2.4', 'Two PATs have different jti', async (gate, expect) => {
    const other = (await gate.requestPat(await gate.patRequest())).body as Record<string, unknown> | undefined;
    const second = parseClaims(String(other?.[`${gate.protocol}-pat`])) as { jti?: string } | undefined;
    expect.that((await gate.claims()).jti !== second?.jti, 'two PATs have the same jti');
  }),
  check('pat-missing-member', '4.2 (5), 2.7', 'A PAT request with a missing member is refused', async (gate, expect) => {
    const body = await gate.patRequest();
    for (const member of Object.keys(body)) expect.invalid(await gate.requestPat(without(body, member)), `without ${member}`);
  }),
  check('pat-wrong-type', '4.2 (5), 2.7', 'A PAT request with a member that is not a string is refused', async (gate, expect) => {
    const body = await gate.patRequest();
    for (const member of Object.keys(body)) expect.invalid(await gate.requestPat({ ...body, [member]: 7 }), `with a number as ${member}`);
  }),
  check('pat-foreign-signature', '4.2 (5), 5.3', 'A policy signed with another key is refused', async (gate, expect) => {
    const { agent_public_key } = await gate.patRequest();
    const body = { ...(await gate.patRequest()), agent_public_key };
    expect.refusal(await gate.requestPat(body), 400, 'INVALID_SIGNATURE');
  }),
  check('pat-altered-policy', '4.2 (5), 5.3', 'A policy altered before signing is refused', async (gate, expect) => {
    const altered = { ...(await gate.policy()), prohibition: [], obligation: [] };
    expect.refusal(await gate.requestPat(await gate.patRequest(altered)), 403, 'POLICY_REJECTED');
  }),
];
