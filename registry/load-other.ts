import { Refusal } from '../client/errors.ts';
import type { Api } from './api.ts';
import { CliFailure } from './failure.ts';
import { documentKinds } from './features.ts';

/**
 * Loads what an address has instead of a document.
 * @param serviceId - the service whose credential may be needed
 * @param failure - why no document was read
 * @throws CliFailure that says why neither can be read, whose cause is the last reason
 */
export async function loadOther(api: Api, address: string, serviceId: string | undefined, failure: Error): Promise<object> {
  let last = failure;
  const says = [failure.message];
  for (const { load, name } of documentKinds) {
    try {
      return await load(api, address, serviceId);
    } catch (error) {
      // the gate calls no such address either
      if (error instanceof Refusal && error.issues.some(({ path }) => path === '/url')) throw failure;
      last = error as Error;
      says.push(`Nor does it answer as ${name}: ${last.message}`);
    }
  }
  throw new CliFailure('failure', says.join(' '), { cause: last });
}
