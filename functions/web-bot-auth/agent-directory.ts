import QuickLRU from 'quick-lru';
import * as z from 'zod';
import { canonicalDigest } from '../../schemas/canonical.ts';
import { type BoundReads, openBoundReads } from '../core/pat/document-reads.ts';
import type { VerifyDomain } from '../core/pat/issue.ts';
import { egressRulesFromEnvironment } from '../core/relay/egress.ts';
import { type DocumentOptions, openDocumentReader } from '../core/relay/fetch-document.ts';
import { ApiError, invalidParameter } from '../core/runtime/api-error.ts';
import type { Table } from '../core/table/table.ts';
import { directoryPath } from './signature.ts';

const documentLimits = { maxBytes: 64 * 1_024, timeoutMs: 2_000 };

/**
 * How long a listed key is cached. A key that is not listed, or a directory that could not be read, is looked up again after {@link retryMs}.
 */
const cacheMs = 60_000;
const retryMs = 5_000;
const maxCached = 500;

/** Some directories state times in milliseconds. One that is no number allows no use. */
const time = z
  .number()
  .transform((value) => (value > 1e11 ? value : value * 1_000))
  .optional()
  .catch(Number.NaN);

const signing = { use: z.unknown().optional(), nbf: time, exp: time };

/**
 * The members of a key that its thumbprint depends on (RFC 7638 section 3.2), and those that say when it signs. One that cannot be read allows no use,
 * so that it does not keep the other keys of its set from being used (RFC 7517 section 5).
 */
const keySchema = z
  .discriminatedUnion('kty', [
    z.object({ kty: z.literal('EC'), crv: z.string(), x: z.string(), y: z.string(), ...signing }),
    z.object({ kty: z.literal('OKP'), crv: z.string(), x: z.string(), ...signing }),
    z.object({ kty: z.literal('RSA'), n: z.string(), e: z.string(), ...signing }),
  ])
  .catch({ kty: 'OKP', crv: '', x: '', use: 'none' });

const directorySchema = z.object({ keys: z.array(keySchema).max(100) });

const refuse = (problem: string) => invalidParameter([{ path: '/agent_directory', problem }]);

interface Known {
  /** thumbprints of the keys that it lists, or why it could not be read */
  found: ReadonlySet<string> | ApiError;
  readMs: number;
}

/**
 * Verifies the domains of agents by their directories, which are read under the same rules as client metadata documents.
 * @returns a function that returns the host of a directory, with its port unless that is 443. It throws ApiError INVALID_PARAMETER if the directory
 * cannot be read, or does not list the key; TOO_MANY_REQUESTS if too many are being read
 */
export function openDirectories(
  within: BoundReads,
  options: Pick<DocumentOptions, 'rules' | 'resolve' | 'trustedCertificate'>,
  now: () => number = Date.now,
): VerifyDomain {
  const readDocument = openDocumentReader({ ...options, ...documentLimits });
  const cache = new QuickLRU<string, Known>({ maxSize: maxCached });

  async function read(origin: string, baseUrl: string): Promise<Known['found']> {
    try {
      const { success, data } = directorySchema.safeParse(await readDocument(new URL(directoryPath, origin), baseUrl));
      if (success)
        return new Set(
          data.keys.flatMap(({ use = 'sig', nbf = 0, exp = Number.POSITIVE_INFINITY, ...key }) =>
            use === 'sig' && nbf <= now() && now() < exp ? canonicalDigest(key) : [],
          ),
        );
      return refuse('must lead to a JWK set: an object with keys, of which there are at most 100');
    } catch {
      return refuse(
        `must be the https origin of a public host that answers ${directoryPath} with JSON of at most 64 KiB, without redirects`,
      );
    }
  }

  const lists = ({ found }: Known, thumbprint: string): boolean => found instanceof Set && found.has(thumbprint);

  return async (directory, thumbprint, baseUrl, beforeRead) => {
    const { origin, host } = new URL(directory);
    let known = cache.get(origin);
    if (!known || now() - known.readMs >= (lists(known, thumbprint) ? cacheMs : retryMs)) {
      const found = await within(async () => {
        await beforeRead();
        return read(origin, baseUrl);
      });
      known = { found, readMs: now() };
      cache.set(origin, known);
    }
    if (known.found instanceof ApiError) throw known.found;
    if (!lists(known, thumbprint)) throw refuse('must lead to a directory that lists agent_public_key');
    return host;
  };
}

export const directoriesFromEnvironment = (table: Table): VerifyDomain =>
  openDirectories(openBoundReads(table), { rules: egressRulesFromEnvironment() });
