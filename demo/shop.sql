-- The shop's database: the tables whose changes the demo makes by SQL. The bulk of the changes comes from demo/data/topic_db.jsonl.
create database gmall default charset utf8mb4;
use gmall;
create table base_trademark (
  id bigint primary key auto_increment,
  tm_name varchar(100) not null,
  logo_url varchar(200),
  create_time datetime,
  operate_time datetime
);
create table base_province (
  id bigint primary key auto_increment,
  name varchar(20),
  region_id varchar(20),
  area_code varchar(20),
  iso_code varchar(20),
  iso_3166_2 varchar(20),
  create_time datetime,
  operate_time datetime
);
create table base_dic (
  dic_code varchar(10) primary key,
  parent_code varchar(10),
  dic_name varchar(100),
  create_time datetime,
  operate_time datetime
);
