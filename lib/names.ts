import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** Names of a gate that no other gate has in the same account and region. */
export interface GateNames {
  /** of its dashboard and metrics, and of the aliases of its keys */
  name: string;
  /** of its secrets and of the domain of its user pool: lower-case letters, digits and hyphens */
  slug: string;
}

/** Names that follow from the stack and from the path of the construct within it. A nested stack counts with its id: its name is not known yet. */
export function namesOf(scope: Construct, id: string): GateNames {
  const { scopes } = scope.node;
  const outermost = scopes.findIndex(Stack.isStack);
  const stackName = Stack.of(scopes[outermost] ?? scope).stackName;
  const path = [stackName, ...scopes.slice(outermost + 1).map(({ node }) => node.id), id].join('/');
  // In hexadecimal, because Cognito refuses domains that contain aws, amazon or cognito.
  const slug = createHash('sha256').update(path).digest('hex').slice(0, 12);
  return { name: `${path.replaceAll(/[^a-zA-Z0-9]+/g, '-').slice(0, 40)}-${slug}`, slug };
}
