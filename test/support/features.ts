/** The socket of the features in the tests: what each adds to tests that try everything of a kind. */
import { agents } from './agents/feature.ts';
import { approvals } from './approvals/feature.ts';
import { connections } from './connections/feature.ts';
import { documents } from './documents/feature.ts';
import type { TestedFeature } from './feature.ts';
import { mcpUpstreams } from './mcp-upstreams/feature.ts';
import { opensearch } from './opensearch/feature.ts';
import { signIn } from './sign-in/feature.ts';
import { trial } from './trial/feature.ts';
import { usage } from './usage/feature.ts';

export const features: readonly TestedFeature[] = [
  agents,
  approvals,
  connections,
  documents,
  mcpUpstreams,
  opensearch,
  signIn,
  trial,
  usage,
];
