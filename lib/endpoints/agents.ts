import {
  agent,
  agentDomainList,
  agentNames,
  agentPage,
  agentQuery,
  agentWithUsage,
  approvalInput,
  approvedDomain,
  blockInput,
  clearQuery,
} from '../../schemas/agent.ts';
import type { EndpointGroup } from './endpoint.ts';
import { agentId } from './fixtures.ts';
import { changes } from './needs.ts';

const shown = {
  agent_id: agentId,
  state: 'active',
  key_thumbprint: '--6IM5l0OosLj9yWskISYhUA3n_3CURQkmrYMSha_ck',
  first_seen: '2027-03-01T09:30:00.000Z',
  last_issue: '2027-03-01T09:30:00.000Z',
};

const botExample = { domain: 'bot.example', approved_at: '2027-03-01T09:30:00.000Z' };

export const agents = {
  'list-agents': {
    method: 'GET',
    path: '/api/agents',
    summary: 'List agents: active ones, those that wait for approval, or blocked ones',
    description:
      'In the order of their ids, regardless of case. A page may hold fewer agents than it could, even none; if there may be more, `Link` leads to the next one.',
    credential: 'admin',
    query: agentQuery,
    answer: agentPage,
    headers: ['Link'],
    needs: { table: { agent: ['getAll'], agentList: ['get', 'query'] } },
    example: { query: { page_size: '1' }, answer: { agents: [shown] } },
  },
  'clear-waiting-agents': {
    method: 'DELETE',
    path: '/api/agents',
    summary: 'Remove every request for approval',
    description: 'Empties the queue of agents that wait for approval. Agents that ask again wait again.',
    credential: 'admin',
    success: 204,
    query: clearQuery,
    needs: { table: { ...changes, agentList: ['getAll', 'query', 'update'] } },
    example: { query: { state: 'pending' } },
  },
  'get-agent': {
    method: 'GET',
    path: '/api/agents/{agent_id}',
    summary: 'Read the key that an agent id is bound to, whether it is blocked, and what it has used of its limits',
    description:
      'When the agent was first seen, the key to which its id is bound, whether it is blocked, and how much of each limit and budget of the policy its key has used.',
    credential: 'admin',
    errors: ['CONFLICT'],
    query: agentNames,
    answer: agentWithUsage,
    needs: {
      table: { agent: ['get', 'getAll', 'query'], agentKey: ['query'], agentList: ['get', 'getAll'], limit: ['get'] },
      policy: true,
    },
    example: {
      path: { agent_id: agentId },
      answer: { ...shown, usage: [{ limit: 'execute', rule: '/permission/0/constraint/0', of: 60, used: 1, left: 59, period: 60 }] },
    },
  },
  'revoke-agent': {
    method: 'POST',
    path: '/api/agents/{agent_id}/revoke',
    summary: "Revoke an agent's PATs",
    description:
      'PATs that were issued to the agent until now are no longer accepted. It may ask for a new one: what keeps an agent out is a block.',
    credential: 'admin',
    query: agentNames,
    answer: agent,
    needs: { table: { ...changes, agent: ['getAll', 'update'], agentKey: ['query'], agentList: ['getAll'] } },
    example: { path: { agent_id: agentId }, answer: { ...shown, revoked_at: '2027-03-01T11:00:00.000Z' } },
  },
  'delete-agent': {
    method: 'DELETE',
    path: '/api/agents/{agent_id}',
    summary: 'Free an agent id for another key',
    description:
      'Also ends its PATs; the next key that presents the `agent_id` gets it. A block stays, for the id and for the key that had it.',
    credential: 'admin',
    success: 204,
    query: agentNames,
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete'],
        agentKey: ['getAll', 'query', 'update', 'delete'],
        agentList: ['get', 'getAll', 'delete'],
      },
    },
    example: { path: { agent_id: agentId } },
  },
  'approve-agent': {
    method: 'POST',
    path: '/api/agents/{agent_id}/approve',
    summary: 'Let an agent that waits for approval have PATs',
    description:
      'Approves the `agent_id` together with a key. Give `key_thumbprint`, here or in the query, if several keys wait under the `agent_id`, or if it has not asked yet.',
    credential: 'admin',
    query: agentNames,
    body: approvalInput,
    answer: agent,
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete', 'check'],
        agentKey: ['getAll', 'query', 'put'],
        agentList: ['get', 'getAll', 'put', 'delete'],
      },
    },
    example: { path: { agent_id: agentId }, body: { key_thumbprint: shown.key_thumbprint }, answer: shown },
  },
  'list-agent-domains': {
    method: 'GET',
    path: '/api/agent-domains',
    summary: 'List the domains whose agents need no approval',
    description: 'Agents that are verified for one of them (`agent_directory` of `POST /api/pat/issue`) get PATs without waiting.',
    credential: 'admin',
    answer: agentDomainList,
    needs: { table: { agentList: ['query'] } },
    example: { answer: { domains: [botExample] } },
  },
  'approve-agent-domain': {
    method: 'PUT',
    path: '/api/agent-domains/{domain}',
    summary: 'Approve all agents of a domain',
    description:
      'From now on, agents that are verified for the domain get PATs without waiting for approval, whenever they name their directory. A block of one of them still counts. It matters only where agents have to be approved.',
    credential: 'admin',
    errors: ['INVALID_PARAMETER'],
    neverErrors: ['NOT_FOUND', 'CONFLICT'],
    answer: approvedDomain,
    needs: { table: { ...changes, agentList: ['getAll', 'put'] } },
    example: { path: { domain: botExample.domain }, answer: botExample },
  },
  'remove-agent-domain': {
    method: 'DELETE',
    path: '/api/agent-domains/{domain}',
    summary: 'Withdraw the approval of a domain',
    description:
      'Agents of the domain that have no PAT yet wait for approval again. Those that have got one keep theirs: revoke or block them.',
    credential: 'admin',
    success: 204,
    neverErrors: ['CONFLICT'],
    needs: { table: { ...changes, agentList: ['getAll', 'delete'] } },
    example: { path: { domain: botExample.domain } },
  },
  'block-agent': {
    method: 'PUT',
    path: '/api/agents/{agent_id}/block',
    summary: 'Keep an agent out: its id and its key',
    description:
      'No PAT is issued to the `agent_id` or its key, and none is accepted, from the next request on and under whatever other id or key. The answer takes three seconds: after it, no call of the agent is sent any more. A block does not expire. An `agent_id` that nobody has presented yet can be blocked, too.',
    credential: 'admin',
    query: agentNames,
    body: blockInput,
    answer: agent,
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'query', 'update', 'delete', 'check'],
        agentKey: ['query', 'put', 'update', 'delete'],
        agentList: ['get', 'getAll', 'put', 'delete'],
      },
    },
    example: {
      path: { agent_id: agentId },
      body: { reason: 'Asks for the same thing a thousand times an hour' },
      answer: {
        ...shown,
        state: 'blocked',
        block: { reason: 'Asks for the same thing a thousand times an hour', blocked_at: '2027-03-01T11:00:00.000Z' },
      },
    },
  },
  'unblock-agent': {
    method: 'DELETE',
    path: '/api/agents/{agent_id}/block',
    summary: 'Lift the block of an agent',
    description: 'PATs of the agent that have not expired are accepted again.',
    credential: 'admin',
    success: 204,
    query: agentNames,
    needs: {
      table: {
        ...changes,
        agent: ['getAll', 'update', 'delete'],
        agentKey: ['getAll', 'query', 'put', 'update', 'delete'],
        agentList: ['getAll', 'put', 'delete'],
      },
    },
    example: { path: { agent_id: agentId } },
  },
} as const satisfies EndpointGroup;
