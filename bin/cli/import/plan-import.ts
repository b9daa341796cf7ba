import { DocumentError } from './document.ts';
import { node } from './node.ts';
import type { ImportOptions, ImportPlan } from './plan.ts';
import { planServiceDescription } from './plan-description.ts';
import { planOpenApi } from './plan-openapi.ts';

/**
 * Plans the import of a parsed document: OpenAPI 3.0 or 3.1, Swagger 2.0, or a service description (specification section 2.6).
 * Every intent that is planned passes the checks of the registry.
 * @throws DocumentError if the document is none of these, or if a required option is missing
 */
export function planImport(document: unknown, options: ImportOptions): ImportPlan {
  const { openapi, swagger, registry, ...members } = node(document);
  if (/^3\.[01]\./.test(`${openapi}.`) || swagger === '2.0') return planOpenApi(document, options);
  if (members['service-info'] !== undefined && members.intents !== undefined) return planServiceDescription(members, options);
  throw new DocumentError(
    registry === undefined
      ? 'The document cannot be imported. It must be OpenAPI 3.0 or 3.1 (openapi: 3.x), Swagger 2.0 (swagger: "2.0") or a service description (service-info and intents).'
      : 'The document is a registry file. Use "apply" for it.',
  );
}
