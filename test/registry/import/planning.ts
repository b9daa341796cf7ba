import type { ImportOptions } from '../../../registry/import/plan.ts';
import { planImport } from '../../../registry/import/plan-import.ts';

const options: ImportOptions = { rules: { ports: [443], allowLoopback: false, ownHosts: [] }, registryUrl: 'https://gate.example' };

/** Plans a document as a deployment at gate.example does. */
export const plan = (document: unknown, more: Partial<ImportOptions> = {}) => planImport(document, { ...options, ...more });

/** A document in OpenAPI 3.0. */
export const document = (paths: object, more: object = {}) => ({
  openapi: '3.0.3',
  info: { title: 'Things', version: '1' },
  servers: [{ url: 'https://things.example' }],
  paths,
  ...more,
});

export const operation = (more: object = {}) => ({ operationId: 'act', responses: { 204: { description: 'Done' } }, ...more });

/** Plans a document with the operation `POST /things`. */
export const planOperation = (more: object = {}, options: Partial<ImportOptions> = {}, components: object = {}) =>
  plan(document({ '/things': { post: operation(more) } }, { components }), options);

export const planBody = (requestBody: object, components: object = {}) => {
  const { intents, notes } = planOperation({ requestBody }, {}, components);
  return { inputs: intents[0]?.input_parameters ?? [], notes, contentType: intents[0]?.endpoint.content_type };
};

export const text = { type: 'string' };
export const query = (name: string, more: object = {}) => ({ name, in: 'query', schema: text, ...more });
export const json = (schema: object) => ({ content: { 'application/json': { schema } } });
