import { fileURLToPath } from 'node:url';

// What a function file reads when a test imports it for its createAction. Nothing listens at these addresses.
Object.assign(process.env, {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'SILENT',
  REGISTRY_TABLE: 'test-registry',
  ACTIVITY_TABLE: 'test-activity',
  INTENT_GATE_VERSION: '0.0.0',
  ISSUE_FUNCTION: 'test',
  DEFERRED_FUNCTION: 'test',
  APPROVAL_SECONDS: '3600',
  AGENTS: 'open',
  PROTOCOL: 'proto',
  SIGNING_KEY_IDS: 'test',
  CALL_KEY_ID: 'call-key',
  GRANT_KEY_ID: 'grant-key',
  PAT_LIFE_SECONDS: '3600',
  SIGN_IN_SECONDS: '3600',
  ISSUE_LIMIT_PER_HOUR: '60',
  USER_POOL_ID: 'eu-west-1_Test00000',
  ADMIN_CLIENT_IDS: 'test',
  ADMIN_SCOPE: 'intent-gate/admin',
  SIGN_IN_DOMAIN: 'https://pool.example',
  SIGN_IN_CLIENT_ID: 'test',
  HISTORY_DAYS: '400',
  MAX_PER_NAMESPACE: '20000',
  EGRESS_PORTS: '443',
  RECEIPT_KEY_ID: 'test',
  LOG_KEY_ID: 'test',
  LOG_BUCKET: 'test',
  CREDENTIAL_PREFIX: 'intent-gate/test/',
  NOTIFY_URL: 'https://hooks.example',
  NOTIFY_SECRET: 'test',
});

// Processes that tests start find the code that others have compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/intent-gate/compiled', import.meta.url));
