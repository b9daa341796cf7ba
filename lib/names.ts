import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/** Names that are unique in the account and region. */
export interface GateNames {
  /** for the dashboard, metrics and key aliases */
  name: string;
  /** for secrets and the user pool's domain: lower-case letters, digits and hyphens */
  slug: string;
}

/** Names derived from the stack name and the construct's path in it. Nested stacks contribute their id, because their name is not known yet. */
export function namesOf(scope: Construct, id: string): GateNames {
  const { scopes } = scope.node;
  const outermost = scopes.findIndex(Stack.isStack);
  const stackName = Stack.of(scopes[outermost] ?? scope).stackName;
  const path = [stackName, ...scopes.slice(outermost + 1).map(({ node }) => node.id), id].join('/');
  // Hexadecimal, because Cognito refuses domains that contain aws, amazon or cognito.
  const slug = createHash('sha256').update(path).digest('hex').slice(0, 12);
  return { name: `${path.replaceAll(/[^a-zA-Z0-9]+/g, '-').slice(0, 40)}-${slug}`, slug };
}
