-- Transactions, DDL, XA, and what else stands between rows.
use cdc;
create table t_tx(id int primary key, v varchar(20));
begin; insert into t_tx values(1,'a'); insert into t_tx values(2,'b'); update t_tx set v='c' where id=1; commit;
begin; insert into t_tx values(3,'x'); savepoint s; insert into t_tx values(4,'y'); rollback to s; commit;
create table t_myisam(id int primary key) engine=myisam;
insert into t_myisam values(1),(2);
xa start 'trx1'; insert into t_tx values(10,'xa'); xa end 'trx1'; xa prepare 'trx1'; xa commit 'trx1';
xa start 'trx2','branch',7; insert into t_tx values(11,'xa'); xa end 'trx2','branch',7; xa prepare 'trx2','branch',7; xa rollback 'trx2','branch',7;
alter table t_tx add w int default 5, rename to t_tx2;
insert into t_tx2 values(20,'new',6);
create index ix on t_tx2(v);
truncate table t_tx2;
drop table t_tx2, t_myisam;
create database cdc2; drop database cdc2;
flush binary logs;
create table t_after(id int primary key); insert into t_after values(1);
