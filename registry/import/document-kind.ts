import type { Api } from '../api.ts';
import type { Node } from './node.ts';
import type { ImportOptions, ImportPlan } from './plan.ts';

/** Another kind of document that can be imported. */
export interface DocumentKind {
  /** completes the sentence "the address does not answer as ..." */
  name: string;
  /**
   * Reads the document at an address from which none could be fetched.
   * @param serviceId - the service whose credential may be needed
   * @throws CliFailure or IntentGateError
   */
  load(api: Api, address: string, serviceId: string | undefined): Promise<object>;
  /** Whether a document with these members is of this kind. */
  recognises(members: Node): boolean;
  /** @throws DocumentError */
  plan(members: Node, options: ImportOptions): ImportPlan;
}
