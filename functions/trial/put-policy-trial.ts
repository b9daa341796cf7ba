import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { ok } from '../core/http/response.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { readPolicyFile } from '../core/registry/policy-in-force.ts';
import { logged, openPublisher, type Publisher, readPublication } from '../core/registry/publish-policy.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import type { TrialPointer } from './trial-verdict.ts';

/** `PUT /api/policy/try`: puts a policy on trial, in place of the one that was. It judges every execution that begins from now on, without effect. */
export const createAction = ({ publisher }: { publisher: Pick<Publisher, 'change'> }): AdminAction =>
  forFullAdmins(async (admin, request) => {
    const next = await readPublication(request.text(), request.baseUrl);
    const members: Partial<TrialPointer> = { trial: next.version };
    const seq = await publisher.change(admin, [next], (pointer: TrialPointer | undefined) => ({
      members,
      logged: logged('trial', 'publish', pointer?.trial, next.version),
    }));
    return ok({ version: next.version, seq });
  });

export const handler = serveAdmin(
  createAction({ publisher: openPublisher(changeLogFromEnvironment(tableFromEnvironment()), readPolicyFile) }),
);
