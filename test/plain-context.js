import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

// Jest puts a Proxy behind the globals of each test file, which makes every use of a global slow. A context without one runs tests in half the time.
const { createContext } = vm;
vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);

/** A test file has its own copy of every module. That of the local table, which takes long to load, is one for all files of a process. */
export default class extends TestEnvironment {
  async setup() {
    await super.setup();
    this.global.loadTableServer = () => import('./support/table-server.ts');
  }
}
