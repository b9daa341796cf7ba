import { readerOf } from '../core/runtime/environment.ts';

/** The environment variables of approvals. */
export const approvalVariables = {
  /** how long a call may wait for approval, in seconds */
  approvalSeconds: 'APPROVAL_SECONDS',
} as const;

export const readApprovalEnvironment = readerOf(approvalVariables);
