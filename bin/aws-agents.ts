import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { readProxy, throughProxy } from '../client/proxy.ts';

const { env } = process;
const noProxy = env.no_proxy || env.NO_PROXY || '';
// Node repeats an address that it cannot read, with its password
const addressOf = (proxy?: string): string => (proxy ? (readProxy(proxy)?.href ?? 'http://proxy.invalid') : '');

const proxyEnv = {
  http_proxy: addressOf(env.http_proxy || env.HTTP_PROXY),
  https_proxy: addressOf(env.https_proxy || env.HTTPS_PROXY),
  // this machine is never reached through a proxy
  no_proxy: noProxy.trim() === '*' ? '*' : `${noProxy},localhost,127.0.0.1,::1,[::1]`,
};
const options = { keepAlive: true, maxSockets: 50, proxyEnv };

/** For AWS clients, which use no proxy of their own accord: agents that use the one that the environment names. */
export const awsAgents = { httpAgent: new Agent(options), httpsAgent: new TlsAgent(options) };

/** For messages about AWS that cannot be reached. */
export const throughAwsProxy = (): string => throughProxy(process.env.AWS_ENDPOINT_URL ?? 'https://amazonaws.com');
