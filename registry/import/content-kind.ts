import { isFormType, isJsonType } from '../../functions/core/relay/endpoint.ts';
import type { Facts } from './facts.ts';
import type { MediaType } from './operation.ts';

/** How a body of a media type is made from inputs. */
export type Kind = 'json' | 'form' | 'multipart' | 'text' | 'bytes';

/** A media type that a body may have, with what its schema says. */
export interface Candidate extends MediaType {
  kind: Kind;
  facts: Facts;
}

export const json = 'application/json';
export const octets = 'application/octet-stream';
export const plainText = 'text/plain';
export const multipart = 'multipart/form-data';

export const isAny = (mediaType: string): boolean => ['*/*', 'application/*'].includes(mediaType);
export const isText = (mediaType: string): boolean =>
  /^text\/|^application\/([a-z0-9.*-]+\+)?(xml|yaml)$|^application\/(x-yaml|x-ndjson|jsonl|graphql|sql|javascript)$/.test(mediaType);

/** Types that are text if their schema says so; many documents describe files of other types as strings, too. */
const mayBeText = (mediaType: string): boolean =>
  /^application\/(.*\+)?(jwt|sdp|toml|x-pem-file|pem-certificate-chain|sparql-query|sparql-update|n-triples|n-quads|trig|edifact|edi-x12|vnd\.flux)$/.test(
    mediaType,
  );

export function kindOf(mediaType: string, facts: Facts): Kind {
  if (isAny(mediaType)) return facts.isBinary ? 'bytes' : isOnly(facts, 'string') ? 'text' : 'json';
  if (isJsonType(withoutRange(mediaType))) return 'json';
  if (isFormType(mediaType)) return 'form';
  if (mediaType === multipart || mediaType === 'multipart/*') return 'multipart';
  return isText(mediaType) || facts.isEncoded || (isOnly(facts, 'string') && mayBeText(mediaType)) ? 'text' : 'bytes';
}

const isOnly = ({ types }: Facts, type: string): boolean =>
  types !== undefined && [...types].every((one) => one === type || one === 'null');

/** `application/*+json` means JSON of any name. */
export const withoutRange = (mediaType: string): string => mediaType.replace('/*+', '/');
