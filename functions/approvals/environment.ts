import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of approvals. */
export const approvalVariables = {
  /** how long a call may wait for approval, in seconds */
  approvalSeconds: 'APPROVAL_SECONDS',
  /** address of the webhook that is told of waiting calls */
  notify: 'NOTIFY_URL',
  /** name of its secret */
  notifySecret: 'NOTIFY_SECRET',
} as const;

export const readApprovalEnvironment = readerOf(approvalVariables);
