/** The parts of an OpenAPI 3.1 document that this project uses. */
export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string; description?: string }[];
  tags: { name: string; description: string }[];
  /** by path and lower-case method */
  paths: Record<string, Record<string, ApiOperation>>;
  components: Record<string, Record<string, unknown>> & { schemas: Record<string, JsonSchema> };
}

export interface ApiOperation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: (ApiParameter | Reference)[];
  requestBody?: { required: true; content: Record<string, ApiContent> };
  responses: Record<string, ApiResponse | Reference>;
}

export interface ApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  /** may be sent without a value, which is the same as leaving it out */
  allowEmptyValue?: true;
  schema: JsonSchema;
  example?: unknown;
}

export interface ApiResponse {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, ApiContent>;
}

export interface ApiContent {
  schema: JsonSchema;
  examples?: Record<string, Reference | { summary?: string; value: unknown }>;
}

export interface Reference {
  $ref: string;
}

/** The keywords of JSON Schema 2020-12 that this project uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  description?: string | undefined;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  [keyword: string]: unknown;
}
