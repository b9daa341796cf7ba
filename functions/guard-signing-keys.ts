import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import * as z from 'zod';
import { findAccountObjection } from './core/deployment/account-limits.ts';
import { findObjection } from './core/deployment/change-objection.ts';
import { idOf } from './core/deployment/guarded-settings.ts';
import { readEnvironment } from './core/runtime/environment.ts';

const accountNeeds = z.object({ ManageApiLogRole: z.string().default('true') });

async function decide(event: CloudFormationCustomResourceEvent, id: string): Promise<string | undefined> {
  if (event.RequestType === 'Create') {
    const { ManageApiLogRole } = accountNeeds.parse(event.ResourceProperties);
    const { reservedConcurrency = '0' } = readEnvironment([], ['reservedConcurrency']);
    return findAccountObjection({ reservedConcurrency: Number(reservedConcurrency), managesApiLogRole: ManageApiLogRole === 'true' });
  }
  const isUnchanged = event.RequestType === 'Update' && event.PhysicalResourceId === id;
  return isUnchanged ? undefined : findObjection(event);
}

/** CloudFormation runs it at the start of a deployment, and rolls back if it objects. */
export async function handler(event: CloudFormationCustomResourceEvent): Promise<void> {
  const id = idOf(event);
  const objection = await decide(event, id);
  const { StackId, RequestId, LogicalResourceId, ResponseURL } = event;
  const answer = {
    Status: objection === undefined ? 'SUCCESS' : 'FAILED',
    ...(objection !== undefined && { Reason: objection }),
    PhysicalResourceId: event.RequestType === 'Delete' ? event.PhysicalResourceId : id,
    StackId,
    RequestId,
    LogicalResourceId,
  };
  // The presigned URL is for a request without Content-Type, which fetch adds to a string but not to bytes.
  const { ok, status } = await fetch(ResponseURL, { method: 'PUT', body: Buffer.from(JSON.stringify(answer)) });
  if (!ok) throw new Error(`the response URL of CloudFormation answered ${status}`);
}
