import QuickLRU from 'quick-lru';
import * as z from 'zod';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import { invalidParameter } from '../api-error.ts';
import { egressRulesFromEnvironment } from '../relay/egress.ts';
import { type DocumentOptions, openDocumentReader, type ReadDocument } from '../relay/fetch-document.ts';
import { directoryPath } from '../relay/signature.ts';

/** The domain that an agent is verified for. */
export interface AgentDirectories {
  /**
   * @param directory - the https origin that the agent names
   * @param thumbprint - of the key that the agent has signed with
   * @returns the host of the directory, with a port if it is not that of https
   * @throws ApiError INVALID_PARAMETER if the directory cannot be read, or does not list the key
   */
  verify(directory: string, thumbprint: string, baseUrl: string): Promise<string>;
}

const documentLimits = { maxBytes: 64 * 1_024, timeoutMs: 2_000 };

/** A key that a directory has listed counts as listed for this long; one that it has not listed is looked for again after {@link retryMs}. */
const cacheMs = 60_000;
const retryMs = 5_000;
const maxCached = 500;

const text = z.string().optional();

/** A JWK set (RFC 7517 section 5). Only the members that a thumbprint depends on matter (RFC 7638 section 3.2). */
const directorySchema = z.object({
  keys: z.array(z.object({ kty: z.string(), crv: text, x: text, y: text, n: text, e: text })).max(100),
});

const refuse = (problem: string) => invalidParameter([{ path: '/agent_directory', problem }]);

export function openAgentDirectories(readDocument: ReadDocument, now: () => number = Date.now): AgentDirectories {
  const cache = new QuickLRU<string, { thumbprints: ReadonlySet<string>; readMs: number }>({ maxSize: maxCached });

  async function read(origin: string, baseUrl: string): Promise<ReadonlySet<string>> {
    const document = await readDocument(new URL(directoryPath, origin), baseUrl).catch(() => {
      throw refuse(
        `must be the https origin of a public host that answers ${directoryPath} with JSON of at most 64 KiB, without redirects`,
      );
    });
    const { success, data } = directorySchema.safeParse(document);
    if (!success) throw refuse('must lead to a JWK set: an object with keys, of which there are at most 100');
    return new Set(data.keys.map(canonicalDigest));
  }

  return {
    async verify(directory, thumbprint, baseUrl) {
      const { origin, host } = new URL(directory);
      const known = cache.get(origin);
      const ageMs = known ? now() - known.readMs : Number.POSITIVE_INFINITY;
      const isKnown = known && ageMs < (known.thumbprints.has(thumbprint) ? cacheMs : retryMs);
      const thumbprints = isKnown ? known.thumbprints : await read(origin, baseUrl);
      if (!isKnown) cache.set(origin, { thumbprints, readMs: now() });
      if (!thumbprints.has(thumbprint)) throw refuse('must list agent_public_key, which it does not');
      return host;
    },
  };
}

/** Directories on the network, read under the same rules as client metadata documents. */
export const agentDirectories = (
  options: Pick<DocumentOptions, 'rules' | 'resolve' | 'trustedCertificate'>,
  now?: () => number,
): AgentDirectories => openAgentDirectories(openDocumentReader({ ...options, ...documentLimits }), now);

export const agentDirectoriesFromEnvironment = (): AgentDirectories => agentDirectories({ rules: egressRulesFromEnvironment() });
