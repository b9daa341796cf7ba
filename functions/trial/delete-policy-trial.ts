import { type AdminAction, forFullAdmins, serveAdmin } from '../core/admin/for-admins.ts';
import { noContent } from '../core/http/response.ts';
import { changeLogFromEnvironment } from '../core/registry/change-log.ts';
import { readPolicyFile } from '../core/registry/policy-in-force.ts';
import { logged, openPublisher, type Publisher } from '../core/registry/publish-policy.ts';
import { tableFromEnvironment } from '../core/table/table.ts';
import { noTrial } from './refusals.ts';
import type { TrialPointer } from './trial-verdict.ts';

/** `DELETE /api/policy/try`: ends the trial. */
export const createAction = ({ publisher }: { publisher: Pick<Publisher, 'change'> }): AdminAction =>
  forFullAdmins(async (admin) => {
    await publisher.change(admin, [], (pointer: TrialPointer | undefined) => {
      if (pointer?.trial === undefined) throw noTrial();
      return { members: { trial: undefined }, logged: logged('trial', 'delete', pointer.trial) };
    });
    return noContent();
  });

export const handler = serveAdmin(
  createAction({ publisher: openPublisher(changeLogFromEnvironment(tableFromEnvironment()), readPolicyFile) }),
);
