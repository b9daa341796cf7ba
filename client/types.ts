export interface Parameter {
  name: string;
  type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null' | 'any';
  required?: boolean;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  /** schema of a list's or object's content: JSON Schema 2020-12 without references */
  schema?: Record<string, unknown>;
  in?: 'query' | 'header' | 'body' | 'filename' | 'content_type';
  /** the input whose file name or media type this is */
  of?: string;
  style?: 'commas' | 'spaces' | 'pipes' | 'brackets' | 'json' | 'base64';
  /** of a part of a multipart form */
  content_type?: string;
  format?: string;
}

export interface Intent {
  intent_uid: string;
  service_name: string;
  intent_name: string;
  description: string;
  input_parameters: Parameter[];
  output_parameters: Parameter[];
  endpoint: string;
  tags: string[];
  digest: string;
}

export interface FullIntent extends Omit<Intent, 'endpoint'> {
  intent_id: string;
  service_id: string;
  endpoint: {
    url: string;
    method: string;
    content_type: string;
    body?: string | null;
    optional_body?: true;
    accept?: string;
    idempotency_key?: { required?: true; format?: 'uuid' };
    response_headers?: string[];
    mcp?: { tool: string; headers?: Record<string, string> };
  };
  category?: string;
  version: string;
  deprecated: boolean;
}

export interface IntentPage {
  intents: Intent[];
  pagination: { total_results: number; total_pages: number; current_page: number; page_size: number };
}

/** Search filters; an intent must match all of them. */
export interface SearchQuery {
  /** a question or words; any word may match, and better matches come first */
  query?: string;
  service_name?: string;
  intent_name?: string;
  uid?: string;
  namespace?: string;
  description?: string;
  /** the intent must have all of them */
  tags?: string[];
  /** from 1 */
  page?: number;
  /** 1 to 100; default: 10 */
  page_size?: number;
}

/** A deferred call: awaiting a person's approval, or in progress. */
export type PendingExecution = { status: 'waiting'; execution: string; expires_at: string } | { status: 'working'; execution: string };

/** The state of a deferred call. `outcome` has the HTTP status and body of the execution's response. */
export type ExecutionState =
  | PendingExecution
  | { status: 'done'; execution: string; outcome: { status: number; body: Record<string, unknown> } }
  | { status: 'denied' | 'expired' | 'unknown'; execution: string; reason: string };

export interface Constraint {
  leftOperand: string;
  operator: string;
  rightOperand: unknown;
  unit?: string | undefined;
}

export interface Duty {
  action: string;
  target?: string | undefined;
  amount?: unknown;
  unit?: string | undefined;
  timeInterval?: string | undefined;
}

export interface Rule {
  action: string;
  target?: string | undefined;
  assignee?: string | undefined;
  constraint?: Constraint[] | undefined;
  duty?: Duty[] | undefined;
}

/** The usage policy, modelled on ODRL. */
export interface Policy {
  uid: string;
  type: string;
  permission?: Rule[] | undefined;
  prohibition?: Rule[] | undefined;
  obligation?: Rule[] | undefined;
  [member: string]: unknown;
}
