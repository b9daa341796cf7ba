import { documentKinds } from '../features.ts';
import { DocumentError } from './document.ts';
import { node, written } from './node.ts';
import type { ImportOptions, ImportPlan } from './plan.ts';
import { isServiceDescription, planDescription } from './plan-description.ts';
import { planOpenApi } from './plan-openapi.ts';
import { requireBaseUrl } from './server.ts';

/**
 * Plans the import of OpenAPI 3.0 to 3.2, Swagger 2.0, a service description (specification section 2.6) or a document of a feature's kind. Planned intents pass the registry's checks.
 * @throws DocumentError if it is none of these, or if a required option is missing
 */
export function planImport(document: unknown, options: ImportOptions): ImportPlan {
  const { openapi, swagger, registry, ...members } = node(document);
  if (options.baseUrl !== undefined) requireBaseUrl(options.baseUrl);
  if (/^3\.[012]\./.test(`${written(openapi)}.`) || written(swagger) === '2.0') return planOpenApi(document, options);
  if (isServiceDescription(members)) return planDescription(members, options);
  const kind = documentKinds.find(({ recognises }) => recognises(members));
  if (kind) return kind.plan(members, options);
  throw new DocumentError(
    registry === undefined
      ? 'The document cannot be imported. It must be OpenAPI 3.0, 3.1 or 3.2 (openapi: 3.1.0), Swagger 2.0 (swagger: "2.0") or a service description (service-info and intents).'
      : 'The document is a registry file. Use "apply" for it.',
  );
}
